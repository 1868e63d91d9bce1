"""The clients and workers of Scripts/fleet-test, and the answers that they got."""

import os
import random
import re
import threading
import time
from collections import Counter, deque

from resp import Refused, command

# Refusals that say nothing was done, and are expected while nodes come and go.
PASSING = {"BUSY", "SHUTTINGDOWN", "NOAUTH"}
# So many jobs may wait before clients are held back.
WAITING_MAX = 150
# The seconds after which an answer no longer comes, and the length of a long result in bytes.
PATIENCE, LONG = 60, 100_000
SCHEDULES = {"tick": ("EVERY", 250, "MISSED", "all"), "cron": ("CRON", "* * * * * *")}


def uptime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Order:
    """A job that a client hands in, maybe several times under one name."""

    def __init__(self, token, thread, selector, payload):
        self.token, self.thread, self.selector, self.payload = token, thread, selector, payload
        self.key, self.priority, self.options = None, "normal", []
        # Whether it has its place in the order of its thread or key.
        self.is_plain = True
        self.delay = 0
        self.sent_at = uptime()
        self.numbers = set()
        # Whether it was answered with a result, was refused, and has lost an answer.
        self.is_answered = self.is_refused = self.is_unknown = False
        # By SQL: True if its transaction was committed, False if it was rolled back.
        self.is_committed = None
        # Whether a CANCEL was sent, its answer and when that came; it may have been lost.
        self.may_be_cancelled = False
        self.cancelled, self.cancelled_at = None, None

    @property
    def group(self):
        """The order in which it has a place; None without one."""
        if self.thread == "pool" and self.key is None:
            return None
        return "%s/%s %s" % (self.thread, self.key or "", self.priority)

    @property
    def is_named(self):
        return "UNIQUE" in self.options

    def words(self, more=()):
        return ("PERFORM", self.thread, self.selector, *self.options, *more, self.payload)


class Book:
    """All that clients have handed in and were told."""

    def __init__(self):
        self.orders = {}
        self.lock = threading.Lock()
        self.faults = []
        # Ends that were told: by WAIT with the result, and to workers by OK to a DONE.
        self.told_results, self.told_ends = [], []
        # Jobs of which a command said NOJOB, and when.
        self.told_unknown = []
        self.over, self.full = threading.Event(), threading.Event()
        # Whether nothing harms the nodes, and has not for a while: then no command may be refused.
        self.is_calm = False
        self.refusals = 0
        # How often each was said; numbers are left out.
        self.reasons = Counter()
        self.probes = set()

    def add(self, order):
        with self.lock:
            self.orders[order.token] = order
        return order

    def note(self, order, reply):
        """An answer to a submit; returns the job's number or None."""
        if isinstance(reply, int):
            order.numbers.add(reply)
            if order.is_named and len(order.numbers) > 1:
                self.faults.append("the name %s has the numbers %s" % (
                    order.token, sorted(order.numbers)))
            return reply
        if isinstance(reply, Refused):
            order.is_refused = True
            self.refuse(reply)
        return None

    def refuse_about(self, number, order, refusal):
        """A refusal of a command about a job that was accepted."""
        if str(refusal).startswith("NOJOB"):
            self.told_unknown.append((number, order, time.time()))
        else:
            self.refuse(refusal)

    def refuse(self, refusal):
        self.refusals += 1
        self.reasons[re.sub(r"\d+", "N", str(refusal))] += 1
        word = str(refusal).split()[0]
        if word not in PASSING:
            self.faults.append("refused: %s" % refusal)
        elif self.is_calm and word != "SHUTTINGDOWN":
            self.faults.append("refused without a fault: %s" % refusal)


class Submitter(threading.Thread):
    """A client that hands in jobs at random nodes until all is over."""

    def __init__(self, number, fleet, book, seed):
        super().__init__(daemon=True)
        self.number, self.fleet, self.book = number, fleet, book
        self.chance = random.Random(seed)
        self.count = 0
        self.recent, self.named = [], []
        # The latest jobs, some of which ended long ago.
        self.accepted = deque(maxlen=600)
        # Set when a burst has had some answers.
        self.is_answered = threading.Event()

    def run(self):
        client = None
        while not self.book.over.is_set():
            if self.book.full.is_set():
                time.sleep(0.05)
                continue
            try:
                client = client or self.fleet.any(self.chance).connect(self.chance)
                self.act(client)
                time.sleep(self.chance.random() * 0.15)
                if self.chance.random() < 0.05:
                    client.close()
                    client = None
            except Refused as refusal:
                # Said by a door before the connection is closed.
                self.book.refuse(refusal)
                client = None
                time.sleep(0.05)
            except OSError as error:
                if isinstance(error, TimeoutError):
                    self.book.faults.append("a client of %d s has no answer" % PATIENCE)
                client = None
                time.sleep(0.05)

    def act(self, client):
        kind = self.chance.random()
        if kind < 0.1 and self.recent:
            self.cancel(client)
        elif kind < 0.25:
            self.wait(client)
        elif kind < 0.3:
            self.wait_unread(client)
        elif kind < 0.4 and self.accepted:
            self.ask(client)
        else:
            self.submit(client)

    def burst(self, count, answers):
        """Hands in many short jobs at once, so that all threads are busy for a while."""
        try:
            client = self.fleet.any(self.chance).connect(self.chance)
            # Jobs with names travel another way.
            may_be_named = self.chance.random() < 0.5
            orders = [self.order(1, may_be_named) for _ in range(count)]
            self.exchange(client, orders, answers)
            client.close()
        except (OSError, Refused):
            pass  # The fault came first, or the orders note that their answers are lost.

    def order(self, pauses_max=40, may_be_named=True, is_waited_for=False):
        """A new job of a random kind; one that is waited for takes a while."""
        chance = self.chance
        self.count += 1
        token = "t%d-%d" % (self.number, self.count)
        thread = chance.choice(["one", "one", "two", "pool", "pool", "pool", "served"])
        selector = "serve" if thread == "served" else chance.choice(["work", "work", "echo"])
        pauses = min(pauses_max, chance.choice([1, 4, 40])) if chance.random() < 0.03 else 0
        if is_waited_for and chance.random() < 0.7:
            thread, selector, pauses = "pool", "work", 4
        failing = chance.choice([1, 2]) if selector == "work" and chance.random() < 0.03 else 0
        payload = token if selector == "echo" else "%s %d %d" % (token, pauses, failing)
        order = Order(token, thread, selector, payload)
        if thread == "pool" and chance.random() < 0.7:
            order.key = "k%d" % chance.randrange(4)
            order.options += ["KEY", order.key]
        if failing:
            order.options += ["RETRY", failing]
            if chance.random() < 0.5 and order.key:
                order.options += ["BLOCK"]
            else:
                order.is_plain = False
        if chance.random() < 0.08:
            order.delay = chance.randrange(5000)
            order.options += ["DELAY", order.delay]
            order.is_plain = False
        if chance.random() < 0.1:
            order.priority = chance.choice(["high", "low"])
            order.options += ["PRIORITY", order.priority]
        if may_be_named and chance.random() < 0.3:
            order.options += ["UNIQUE", token]
            self.named.append(order)
        return self.book.add(order)

    def submit(self, client):
        """Sends some jobs at once, and reads their answers."""
        orders = [self.order() for _ in range(self.chance.choice([1, 1, 2, 3, 8]))]
        if self.named and self.chance.random() < 0.5:
            orders.append(self.chance.choice(self.named[-30:]))
        self.exchange(client, orders)

    def exchange(self, client, orders, told=0):
        answered = 0
        try:
            client.socket.sendall(b"".join(command(*order.words()) for order in orders))
            for order in orders:
                try:
                    reply = client.reply()
                except Refused as refusal:
                    reply = refusal
                answered += 1
                if answered == told:
                    self.is_answered.set()
                if number := self.book.note(order, reply):
                    self.recent.append((number, order))
                    self.accepted.append((number, order))
            del self.recent[:-50]
        finally:
            for order in orders[answered:]:
                order.is_unknown = True

    def wait(self, client):
        """Waits for a result."""
        order = self.order(is_waited_for=True)
        client.socket.sendall(command(*order.words(("WAIT", 3000))))
        self.read_result(client, order)

    def wait_unread(self, client):
        """Waits for some results, long ones among them, and begins to read late."""
        orders = [self.order(1) for _ in range(self.chance.randrange(2, 12))]
        for order in orders:
            if order.selector == "echo" and self.chance.random() < 0.5:
                order.payload += " " + "x" * LONG
        client.socket.sendall(b"".join(command(*o.words(("WAIT", 3000))) for o in orders))
        time.sleep(self.chance.random() * 1.5)
        for place, order in enumerate(orders):
            try:
                self.read_result(client, order)
            except OSError:
                for unread in orders[place:]:
                    unread.is_unknown = True
                raise

    def read_result(self, client, order):
        """Reads the answer to a PERFORM with WAIT."""
        try:
            result = client.reply()
            order.is_answered = True
            self.check_result(result, order)
        except OSError:
            order.is_unknown = True
            raise
        except Refused as refusal:
            found = re.match(r"TIMEOUT job (\d+) has not ended", str(refusal))
            if found:
                self.book.note(order, int(found[1]))
            elif str(refusal).startswith("SHUTTINGDOWN"):
                order.is_unknown = True
            else:
                self.book.note(order, refusal)

    def check_result(self, result, order):
        if order.selector != "echo":
            self.book.told_results.append((order.token, int(result.split()[1])))
        if result.decode() != order.payload if order.selector == "echo" else (
                result.split()[0].decode() != order.token):
            self.book.faults.append("%s has the result %s" % (order.token, result[:80]))

    def ask(self, client):
        """Asks for the result of an earlier job, which may not have ended yet or be forgotten."""
        number, order = self.chance.choice(self.accepted)
        try:
            result = client.call("RESULT", number, *self.chance.choice([(), ("WAIT", 3000)]))
            if result is not None:
                self.check_result(result, order)
        except Refused as refusal:
            is_end = str(refusal).startswith("CANCELLED") and order.may_be_cancelled
            if not is_end and not str(refusal).startswith("TIMEOUT job %d has not" % number):
                self.book.refuse_about(number, order, refusal)

    def cancel(self, client):
        # A delayed one has mostly not begun.
        delayed = [pair for pair in self.recent if pair[1].delay and not pair[1].cancelled]
        number, order = self.chance.choice(delayed or self.recent)
        order.may_be_cancelled = True
        try:
            answer = client.call("CANCEL", number).decode()
        except Refused as refusal:
            return self.book.refuse_about(number, order, refusal)
        if answer in ("cancelled", "requested") and order.cancelled is None:
            order.cancelled, order.cancelled_at = answer, uptime()


class Crowd:
    """Many clients, each with one job under a name of its own, until each has the job's number."""

    # Shorter than the longest stop of a node: clients come back while it stands still.
    PATIENCE = 5

    def __init__(self, hand, count, node):
        """Half of them go to this node, the others to any."""
        self.fleet, self.book, self.node = hand.fleet, hand.book, node
        self.threads = []
        for number in range(count):
            order = hand.order(pauses_max=1, may_be_named=False)
            order.options += ["UNIQUE", order.token]
            # A repeated submit has a later place.
            order.is_plain = False
            self.threads.append(threading.Thread(
                target=self.insist, daemon=True,
                args=(order, number % 2 == 0, hand.chance.random())))

    def start(self):
        for thread in self.threads:
            thread.start()

    def join(self, seconds):
        """Waits until all jobs are accepted; returns how many are not."""
        end = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0, end - time.monotonic()))
        return sum(thread.is_alive() for thread in self.threads)

    def insist(self, order, is_of_node, seed):
        chance = random.Random(seed)
        client = None
        while True:
            try:
                node = self.node if is_of_node else self.fleet.any(chance)
                client = client or node.connect(chance, self.PATIENCE)
                if self.book.note(order, client.call(*order.words())):
                    return client.close()
            except Refused as refusal:
                self.book.note(order, refusal)
            except OSError:
                client = None
                order.is_unknown = True
            time.sleep(0.02)


class SQLSubmitter(threading.Thread):
    """Hands in jobs by SQL, some of them in transactions that are rolled back."""

    def __init__(self, fleet, book, seed):
        super().__init__(daemon=True)
        self.fleet, self.book, self.chance = fleet, book, random.Random(seed)
        self.count = 0

    def run(self):
        while not self.book.over.is_set():
            if not self.book.full.is_set():
                self.submit()
            self.book.over.wait(0.5 + self.chance.random())

    def submit(self):
        orders = []
        for _ in range(self.chance.randrange(1, 4)):
            self.count += 1
            token = "s%d" % self.count
            thread = self.chance.choice(["one", "two", "pool"])
            orders.append(self.book.add(Order(token, thread, "work", token + " 0 0")))
            orders[-1].is_plain = False
        commits = self.chance.random() < 0.8
        calls = "; ".join("SELECT workerd.perform('%s', 'work', '%s')" % (
            order.thread, order.payload) for order in orders)
        try:
            self.fleet.server.sql("BEGIN; %s; %s" % (calls, "COMMIT" if commits else "ROLLBACK"))
        except OSError:
            for order in orders:
                order.is_unknown = commits
                order.is_committed = None if commits else False
            return
        for order in orders:
            order.is_committed = commits


class Worker(threading.Thread):
    """Takes jobs of `serve`, and notes them in the ledger as programs do."""

    def __init__(self, number, fleet, book, seed):
        super().__init__(daemon=True)
        self.number, self.fleet, self.book = number, fleet, book
        self.chance = random.Random(seed)
        self.ledger = os.open(fleet.ledger, os.O_WRONLY | os.O_APPEND)
        self.stale = 0

    def note(self, word, job, attempt, token):
        os.write(self.ledger, b"%s %d %d %s %d worker %.2f\n" % (
            word, job, attempt, token, -self.number, uptime()))

    def run(self):
        client, held, said = None, None, None
        while not self.book.over.is_set():
            try:
                client = client or self.fleet.any(self.chance).connect(self.chance)
                if said:
                    words, job, attempt, order = said
                    try:
                        client.call(*words)
                        self.book.told_ends.append((order.decode(), attempt))
                    except Refused as refusal:
                        if "STALE" not in str(refusal):
                            raise
                        # The answer to the first may have been lost, or another worker has it.
                        self.stale += 1
                    said = None
                taken = client.call(
                    "TAKE", "AS", "worker-%d" % self.number, "WAIT", 500, "FROM", "serve")
                if taken is None:
                    continue
                job, token, attempt = taken[0], taken[1], taken[4]
                order, pauses, _ = taken[7].split()
                if held != (job, token):
                    self.note(b"begin", job, attempt, order)
                held = (job, token)
                for _ in range(int(pauses)):
                    time.sleep(0.05)
                    self.note(b"lives", job, attempt, order)
                self.note(b"end", job, attempt, order)
                result = b"%s %d %d" % (order, attempt, -self.number)
                said = (("DONE", job, token, result), job, attempt, order)
            except (OSError, Refused) as error:
                # A node may not know yet that the worker's last connection has ended.
                if isinstance(error, Refused) and str(error).split()[0] != "INUSE":
                    self.book.refuse(error)
                client = None
                time.sleep(0.05)


class Gauge(threading.Thread):
    """Holds clients back while many jobs wait."""

    def __init__(self, fleet, book):
        super().__init__(daemon=True)
        self.fleet, self.book, self.chance = fleet, book, random.Random(1)

    def run(self):
        client = None
        while not self.book.over.is_set():
            try:
                client = client or self.fleet.any(self.chance).connect(self.chance)
                figures = client.figures("jobs")
                if figures["miscounts"] != "0" or figures["stalled_queues"] != "0":
                    self.book.faults.append("INFO says %s" % figures)
                full = int(figures["waiting_jobs"]) > WAITING_MAX
                (self.book.full.set if full else self.book.full.clear)()
            except Refused as refusal:
                self.book.refuse(refusal)
                client = None
            except OSError:
                client = None
            self.book.over.wait(0.3)


def schedule(client):
    for name, words in SCHEDULES.items():
        client.call("SCHEDULE", name, *words, "OVERLAP", "queue", "clock", "echo", name)


def unschedule(client):
    for name in SCHEDULES:
        client.call("UNSCHEDULE", name)
