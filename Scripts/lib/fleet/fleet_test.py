"""Three nodes with one PostgreSQL, random faults, and a ledger that does not belong to workerd.

Used by Scripts/fleet-test. Needs no package.
"""

import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict

from nodes import RESULTS_MAX, Fleet, await_rest, until
from checks import Checks, read_ledger, read_rows
from load import (
    Book, Crowd, Gauge, Order, SQLSubmitter, Submitter, Worker, schedule, unschedule)
from resp import Refused, sizes_of, verdict

SUBMITTERS, WORKERS = 4, 2
# The clients that come back at once, and the megabytes that a node may have then.
CROWD, MEMORY_MAX = 200, 200
# The seconds for which the statements of idle nodes are counted, and the limit for each second.
IDLE_SECONDS, IDLE_MAX = 10, 5
# A node holds a command no longer than for so many seconds.
HELD_SECONDS = 6
# How long nodes are left alone: a thread moves to one that has joined after some 7 s, and a command
# that it leaves behind is refused 5 s later.
CALM_SECONDS = 20


def lasting(kind, seconds):
    """A kind of fault that lasts so long."""
    def fault(serving, others):
        kind(serving, others, seconds)
    fault.__name__ = "%s_%d" % (kind.__name__, seconds)
    return fault


class Faults:
    """The faults of a run. A method is one kind: it does harm, calls `probe`, and mends the fleet.

    It gets the node that serves, the others, and for some kinds how long the harm lasts. Two kinds do
    no harm: no command of the clients' book or of the workers' one may be refused meanwhile.
    """

    def __init__(self, fleet, book, workers, chance, wanted):
        """Only kinds are used whose name contains a wanted text; those of a minute only then."""
        self.fleet, self.book, self.workers, self.chance = fleet, book, workers, chance
        self.times = defaultdict(list)
        self.hand = Submitter(SUBMITTERS, fleet, book, chance.randrange(1 << 32))
        self.kinds = [
            self.kill_serving, self.kill_two, self.kill_waiting, self.kill_rescuer,
            lasting(self.stop_serving, 2), lasting(self.stop_serving, 10),
            lasting(self.stop_crowded, 2), lasting(self.stop_crowded, 10),
            lasting(self.stop_backend, 2), lasting(self.stop_backend, 10),
            self.end_backend, self.restart_server, self.promote_standby,
            lasting(self.freeze_server, 2), lasting(self.freeze_server, 10),
            self.roll_serving, self.roll_all, self.leave_alone, self.rejoin]
        if fleet.network:
            self.kinds += [
                lasting(self.cut_off, 2), lasting(self.cut_off, 12), lasting(self.cut_sending, 12),
                lasting(self.cut_hearing, 12), lasting(self.cut_between, 5)]
        if fleet.network and os.access("/dev/net/tun", os.R_OK | os.W_OK):
            self.kinds += [
                lasting(self.spoil_line, 15), lasting(self.spoil_sending, 15),
                lasting(self.spoil_hearing, 15), lasting(self.spoil_between, 15)]
        if wanted:
            self.kinds += [lasting(kind, 60) for kind in (
                self.stop_serving, self.stop_backend, self.freeze_server)]
            self.kinds = [
                kind for kind in self.kinds if any(text in kind.__name__ for text in wanted)]
        self.deck = []

    def next(self):
        """Does the next harm; each kind comes once before one comes again."""
        if not self.deck:
            self.deck = self.chance.sample(self.kinds, len(self.kinds))
        kind = self.deck.pop()
        serving = until("a node serves", 60, self.fleet.serving)
        others = [node for node in self.fleet.nodes if node is not serving]
        self.chance.shuffle(others)
        print("%s: %s" % (time.strftime("%H:%M:%S"), kind.__name__), "at", serving.name,
              "%.2f" % time.clock_gettime(time.CLOCK_BOOTTIME), file=sys.stderr)
        # The fault comes right behind an answer in a pipeline, or while all threads are busy.
        count = self.chance.randrange(40, 240)
        self.hand.is_answered.clear()
        burst = threading.Thread(
            target=self.hand.burst, args=(count, self.chance.randrange(1, count)), daemon=True)
        burst.start()
        if self.chance.random() < 0.6:
            self.hand.is_answered.wait(1)
        else:
            self.rest(0.4)
        kind(serving, others)
        self.fleet.settle()
        burst.join(120)
        if burst.is_alive():
            self.fleet.faults.append("a pipeline is not answered 120 s after " + kind.__name__)

    def probe(self, kind, node, since):
        """Notes the time until a PERFORM is answered through a node."""
        while True:
            try:
                client = node.connect(self.chance)
                while True:
                    try:
                        self.book.probes.add(client.call("PERFORM", "probe", "echo", "probe"))
                        client.close()
                        self.times[kind].append(time.monotonic() - since)
                        return
                    except Refused:
                        time.sleep(0.01)
            except (OSError, Refused):
                if not node.is_running:
                    # It has lost the seat that it had just taken.
                    self.fleet.tend()
                time.sleep(0.01)
            if time.monotonic() - since > 90:
                self.fleet.faults.append("no PERFORM was answered within 90 s after " + kind)
                return

    def rest(self, seconds):
        time.sleep(self.chance.random() * seconds)

    def kill_serving(self, serving, others):
        since = time.monotonic()
        serving.kill()
        self.probe("kill -9 of the serving node", others[0], since)
        self.rest(2)

    def kill_two(self, serving, others):
        since = time.monotonic()
        serving.kill()
        others[0].kill()
        self.probe("kill -9 of it and of a waiting node", others[1], since)
        self.rest(2)

    def kill_waiting(self, serving, others):
        since = time.monotonic()
        others[0].kill()
        self.probe("kill -9 of a waiting node", others[1], since)

    def kill_rescuer(self, serving, others):
        """Kills the node that takes over, in one of its steps."""
        since = time.monotonic()
        # Its own session: the thread that makes it the serving node may move just now.
        before = self.fleet.server.sessions()[0].get(serving.name)
        serving.kill()

        def has_seat():
            seat = self.fleet.server.sessions()[1]
            return seat is not None and seat != before
        until("another node takes over", 30, has_seat)
        self.rest(0.1)
        sessions, seat = self.fleet.server.sessions()
        rescuers = [node for node in others if sessions.get(node.name) == seat]
        # It enters its name behind the lock.
        rescuer = rescuers[0] if rescuers else self.chance.choice(others)
        rescuer.kill()
        left = next(node for node in others if node is not rescuer)
        self.probe("kill -9 of it and of its rescuer", left, since)

    def stop_serving(self, serving, others, seconds):
        since = time.monotonic()
        serving.stop()
        try:
            if seconds > 5:
                self.probe("SIGSTOP of it for %d s" % seconds, others[0], since)
            time.sleep(max(0, since + seconds - time.monotonic()))
        finally:
            serving.go_on()
        if seconds <= 5:
            self.probe("SIGSTOP of it for %d s" % seconds, others[0], since)

    def stop_crowded(self, serving, others, seconds):
        """Stops the serving node while many clients want it, which come back when it goes on."""
        crowd = Crowd(self.hand, CROWD, serving)
        serving.stop()
        try:
            crowd.start()
            time.sleep(seconds)
        finally:
            since = time.monotonic()
            serving.go_on()
        while crowd.join(0.2):
            self.fleet.tend()
            if time.monotonic() - since > 90:
                self.fleet.faults.append("%d clients of a crowd get no answer" % crowd.join(0))
                return
        self.times["%d clients after SIGSTOP of it for %d s" % (CROWD, seconds)].append(
            time.monotonic() - since)
        for node in self.fleet.nodes:
            if node.is_running:
                sizes = sizes_of(node.process.pid)
                if sizes["memory"] > MEMORY_MAX:
                    self.fleet.faults.append("%s has %d MB" % (node.name, sizes["memory"]))

    def stop_backend(self, serving, others, seconds):
        seat = self.fleet.server.sessions()[1]
        self.pause("its backend", lambda: os.kill(seat, signal.SIGSTOP),
                   lambda: os.kill(seat, signal.SIGCONT), others, seconds)

    def end_backend(self, serving, others):
        seat = self.fleet.server.sessions()[1]
        since = time.monotonic()
        self.fleet.server.sql("SELECT pg_terminate_backend(%d)" % seat)
        self.probe("end of its backend", others[0], since)

    def restart_server(self, serving, others):
        since = time.monotonic()
        self.fleet.server.control("restart")
        self.probe("immediate restart of PostgreSQL", others[0], since)

    def promote_standby(self, serving, others):
        self.fleet.server.follow()
        self.rest(1)
        since = time.monotonic()
        self.fleet.server.fail_over()
        self.probe("promotion of a synchronous standby", others[0], since)

    def freeze_server(self, serving, others, seconds):
        control = self.fleet.server.control
        self.pause("PostgreSQL", lambda: control("freeze"), lambda: control("thaw"), others, seconds)

    def pause(self, name, stop, go_on, others, seconds):
        """Has something of the server stand still."""
        since = time.monotonic()
        stop()
        time.sleep(seconds)
        go_on()
        self.probe("SIGSTOP of %s for %d s" % (name, seconds), others[0], since)

    def cut_off(self, serving, others, seconds):
        network = self.fleet.network

        def cut():
            network.cut_to(serving.name)
            for end in [network.host] + [node.tcp[0] for node in others]:
                network.cut_from(serving.name, end)
            for node in others:
                network.cut_from(node.name, serving.tcp[0])
        self.cut("it is cut off", cut, serving, others[0], seconds)

    def cut_sending(self, serving, others, seconds):
        network = self.fleet.network
        self.cut("packets to PostgreSQL are lost",
                 lambda: network.cut_from(serving.name, network.host), serving, others[0], seconds)

    def cut_hearing(self, serving, others, seconds):
        self.cut("packets from PostgreSQL are lost",
                 lambda: self.fleet.network.cut_to(serving.name), serving, others[0], seconds)

    def cut_between(self, serving, others, seconds):
        """Cuts a waiting node from the serving one: both reach PostgreSQL."""
        def cut():
            self.fleet.network.cut_from(serving.name, others[0].tcp[0])
            self.fleet.network.cut_from(others[0].name, serving.tcp[0])
        self.cut("a waiting node is cut from it", cut, serving, others[1], seconds)

    def cut(self, name, cut, serving, asked, seconds):
        """Cuts the serving node from others for a while, which may cost it the seat."""
        since = time.monotonic()
        serving.is_cut = True
        try:
            cut()
            if seconds > 5:
                self.probe("%s for %d s" % (name, seconds), asked, since)
            time.sleep(max(0, since + seconds - time.monotonic()))
        finally:
            self.fleet.network.mend()
            serving.is_cut = False
        if seconds <= 5:
            self.probe("%s for %d s" % (name, seconds), asked, since)

    def spoil_line(self, serving, others, seconds):
        self.spoil("its line is bad", serving, "both", others[0], seconds)

    def spoil_sending(self, serving, others, seconds):
        self.spoil("its line is bad in sending", serving, "from", others[0], seconds)

    def spoil_hearing(self, serving, others, seconds):
        self.spoil("its line is bad in hearing", serving, "to", others[0], seconds)

    def spoil_between(self, serving, others, seconds):
        """Spoils the lines to the other nodes: that to PostgreSQL is a good one."""
        self.spoil("its lines to other nodes are bad", serving, "both", others[0], seconds,
                   *(node.tcp[0] for node in others))

    def spoil(self, name, serving, way, asked, seconds, *addresses):
        """Has packets of the serving node be late for a while, and some be lost."""
        since = time.monotonic()
        self.fleet.network.spoil(serving.name, way, *addresses)
        try:
            self.probe("%s for %d s" % (name, seconds), asked, since)
            time.sleep(max(0, since + seconds - time.monotonic()))
        finally:
            self.fleet.network.mend()

    def roll_serving(self, serving, others):
        since = time.monotonic()
        self.roll(serving)
        self.probe("SIGTERM of it, and a start", others[0], since)

    def roll_all(self, serving, others):
        for node in others + [serving]:
            since = time.monotonic()
            self.roll(node)
            if node is serving:
                self.probe("SIGTERM of it, and a start", others[0], since)
            self.fleet.settle()

    def leave_alone(self, serving, others):
        """Harms nothing: jobs come in bursts, and threads and slots move as the load wants."""
        self.calm(lambda: None)

    def rejoin(self, serving, others):
        """Has a node leave in order and join again, which moves threads."""
        self.calm(lambda: self.roll(self.chance.choice(others + [serving])))

    def calm(self, action):
        """Does something harmless; no command may be refused until it has had its effect."""
        # Commands that an earlier fault has held up are answered.
        time.sleep(HELD_SECONDS)
        books = self.book, self.workers
        for book in books:
            book.is_calm = True
        action()
        end = time.monotonic() + CALM_SECONDS
        while time.monotonic() < end:
            # Clients that are held back would see nothing.
            if not self.book.full.is_set():
                self.hand.burst(self.chance.randrange(10, 50), 1)
            self.rest(1)
        for book in books:
            book.is_calm = False

    def roll(self, node):
        status = node.terminate()
        if status != 0:
            self.fleet.faults.append("%s ended with %d after SIGTERM" % (node.name, status))
        node.start()

    def table(self):
        """The times by kind, as lines of text."""
        yield "until a PERFORM is answered through another node, in seconds:"
        yield "%-40s %5s %6s %6s %6s" % ("fault", "times", "p50", "p99", "max")
        for kind, times in sorted(self.times.items()):
            times.sort()
            yield "%-40s %5d %6.2f %6.2f %6.2f" % (
                kind, len(times), times[len(times) // 2],
                times[min(len(times) - 1, int(len(times) * 0.99))], times[-1])


def settled(fleet):
    """Waits until no job waits, runs or is delayed."""
    def is_done():
        fleet.tend()
        try:
            return fleet.server.sql(
                "SELECT count(*) FROM workerd.jobs") == [["0"]] and fleet.server.sql(
                "SELECT count(*) FROM workerd.submitted WHERE refusal IS NULL") == [["0"]]
        except (OSError, Refused):
            return False
    until("all jobs end", 180, is_done)


def check_limits(fleet, book, faults):
    """Notes if the nodes keep more results than they may."""
    limit = RESULTS_MAX * (len(fleet.nodes) if fleet.server.shares else 1)
    if fleet.server.shares:
        # Each of the others gives it threads.
        faults.roll(fleet.any(faults.chance))
        fleet.settle()
        await_rest(fleet.server)
    orders = []
    for number in range(4 * limit):
        thread = ("one", "two", "pool")[number % 3]
        order = Order("limit%d" % number, thread, "echo", "limit%d" % number)
        if thread == "pool":
            order.options += ["KEY", "k%d" % (number % 32)]
        orders.append(book.add(order))
    client = fleet.any(faults.chance).connect(faults.chance)
    faults.hand.exchange(client, orders)
    client.close()
    settled(fleet)

    def is_within():
        count = int(fleet.server.sql(
            "SELECT count(*) FROM workerd.ended WHERE kept_until IS NULL AND payload IS NULL")[0][0])
        return count <= limit + 10
    try:
        until("results are dropped", 20, is_within)
    except TimeoutError:
        fleet.faults.append("more than %d results are kept" % limit)


def idle_statements(fleet):
    """The statements that each node sends in a second while there is nothing to do."""
    server = fleet.server
    if server.shares:
        await_rest(server)
    sessions, seat = server.sessions()
    server.set("log_statement", "all")
    since = time.monotonic()
    time.sleep(IDLE_SECONDS)
    server.set("log_statement", None)
    # A busy machine takes a while for that.
    seconds = time.monotonic() - since
    counts = defaultdict(int)
    with open(server.logs[0], errors="replace") as file:
        for line in file:
            found = re.search(r"\[(\d+)\] LOG:  (?:execute|statement)", line)
            if found:
                counts[int(found[1])] += 1
    fleet.faults += ["idle, %s sends %d statements in %.1f s" % (name, counts[pid], seconds)
                     for name, pid in sessions.items() if counts[pid] >= IDLE_MAX * seconds]
    return ["%s %s %.1f" % (name, "serves" if pid == seat else "waits", counts[pid] / seconds)
            for name, pid in sorted(sessions.items())]


def play(fleet, book, seconds, seed, wanted):
    """Lets clients and faults loose; returns the faults when no job waits any more."""
    chance = random.Random(seed)
    client = fleet.any(chance).connect(chance)
    schedule(client)
    client.close()
    threads = [Submitter(number, fleet, book, seed + number) for number in range(SUBMITTERS)]
    threads.append(SQLSubmitter(fleet, book, seed + 10))
    workers = Book()
    workers.told_ends, workers.faults = book.told_ends, book.faults
    hands = [Worker(number + 1, fleet, workers, seed + 20 + number) for number in range(WORKERS)]
    gauge = Gauge(fleet, book)
    for thread in threads + hands + [gauge]:
        thread.start()
    faults = Faults(fleet, book, workers, chance, wanted)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not book.faults and not fleet.faults:
        time.sleep(0.3 + chance.random() * 2)
        faults.next()
    book.over.set()
    for thread in threads + [gauge]:
        thread.join(120)
    client = fleet.any(chance).connect(chance)
    unschedule(client)
    client.close()
    settled(fleet)
    # A node may hold the command of a client that has gone for some seconds yet.
    time.sleep(HELD_SECONDS)
    settled(fleet)
    workers.over.set()
    for worker in hands:
        worker.join(120)
    return faults


def check(fleet, book):
    runs, problems = read_ledger(fleet.ledger)
    rows, left = read_rows(fleet.server)
    stops = {node.name: node.stops for node in fleet.nodes}
    disturbed = fleet.network.disturbed if fleet.network else []
    checks = Checks(book, runs, rows, left, stops, disturbed, book.probes)
    problems += checks.all()
    for node in fleet.nodes:
        if "please report" in node.log():
            problems.append("the log of %s asks for a report" % node.name)
    return problems, checks.counts


def main(binary, seconds, seed, shares, wanted):
    at = tempfile.mkdtemp(prefix="workerd-fleet-")
    fleet, book, problems = Fleet(at, binary, random.Random(seed), shares), Book(), []
    threading.excepthook = lambda fault: book.faults.append(repr(fault.exc_value))
    try:
        faults = play(fleet, book, seconds, seed, wanted)
        check_limits(fleet, book, faults)
        idle = idle_statements(fleet)
        problems, counts = check(fleet, book)
        for node in fleet.nodes:
            status = node.terminate()
            if status != 0:
                problems.append("%s ended with %d after SIGTERM" % (node.name, status))
        for line in faults.table():
            print(line)
        print("idle, statements a second: " + ", ".join(idle))
        for reason, count in book.reasons.most_common(12):
            print("%5d x %s" % (count, reason))
        counts["answers that refuse"] = book.refusals
        print("; ".join("%s: %d" % pair for pair in counts.items()))
    except (OSError, Refused) as error:
        problems.append(str(error))
        fleet.look_at_ends()
    finally:
        fleet.end()
    return verdict(book.faults + fleet.faults + problems, at, seed)


if __name__ == "__main__":
    # The nodes, the server and the network end with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(
        sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "shared", sys.argv[5:]))
