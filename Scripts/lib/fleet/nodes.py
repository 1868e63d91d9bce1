"""A private PostgreSQL and the nodes of Scripts/fleet-test, and the actions on them."""

import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from network import network
from resp import Client, Refused

PASSWORD = "fleet"
NAMES = ("a", "b", "c")
# By how many seconds the clocks of nodes are ahead, where they can be.
AHEAD = {"a": 0, "b": 3660, "c": -3660}
# The results that each node keeps: few, so that jobs are dropped all the time.
RESULTS_MAX = 400
# The first numbers of the advisory locks of the seat and of nodes.
SEAT_CLASS, NODE_CLASS = 0x776B7264, 0x776B6E64

CONFIGURATION = """
{ listen: { unix: "%(at)s/s", tcp: "%(host)s:%(port)d", passwordFile: "%(at)s/password",
    plaintext: true },
  store: "%(store)s", stateDirectory: "%(at)s",
  node: { name: "%(name)s"%(shares)s },
  log: { level: "notice" },
  threads: { one: {}, two: {}, pool: { count: 3%(slots)s }, served: {}, clock: {}, probe: {} },
  selectors: {
    work: { program: ["%(work)s"], environment: { LEDGER: "%(ledger)s", NODE: "%(name)s" } },
    serve: { worker: true, lease: "3s", lost: 1000, leaseAfterRestart: "5s" },
  },
  limits: { retainedResults: %(results)d, retainedBytes: "1GB", retainedFor: "24h" } }
"""

# A table of the test with all jobs that have ended, also those that nodes have dropped since.
COPIES = """
CREATE TABLE public.ended_jobs (
    id bigint, thread text, selector text, outcome smallint, attempt integer, due_at bigint,
    result bytea, is_named boolean, at double precision);
CREATE FUNCTION public.copy_ended() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO public.ended_jobs
        SELECT id, thread, selector, outcome, attempt, due_at,
            substring(result FOR 200), kept_until IS NOT NULL,
            extract(epoch FROM clock_timestamp())
        FROM fresh;
    RETURN NULL;
END $$;
CREATE TRIGGER copies AFTER INSERT ON workerd.ended REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION public.copy_ended();
"""


def until(what, limit, is_so):
    """Waits until something is so.

    Raises TimeoutError after `limit` seconds.
    """
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = is_so()
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError("%s: not within %d s" % (what, limit))


def await_rest(server):
    """Waits until no thread has passed to another node for a while."""
    def seats():
        return server.sql("SELECT name, seat, moved FROM workerd.threads ORDER BY name")
    before = seats(), time.monotonic()

    def is_at_rest():
        nonlocal before
        now = seats()
        if now != before[0]:
            before = now, time.monotonic()
        time.sleep(0.2)
        return time.monotonic() - before[1] > 8
    until("threads stay where they are", 60, is_at_rest)


class Server:
    """A PostgreSQL of its own, which ends with this object."""

    def __init__(self, at, host=None, shares=False):
        """Listens at an address as well, if there is one.

        If the nodes share the threads, the one that has the thread `probe` counts as serving.
        """
        self.at, self.shares = at + "/postgresql", shares
        os.mkdir(self.at)
        script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                              "postgresql-server")
        self.process = subprocess.Popen(
            [script, self.at] + ([host] if host else []), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect_ready()
        # The sockets and logs of the server and of its standby, which change places.
        self.sockets = [self.at + "/socket", self.at + "/standby-socket"]
        self.ports = [5432, 5433 if host else 5432]
        self.logs = [self.at + "/log", self.at + "/standby-log"]
        self.sql("CREATE DATABASE jobs", database="postgres")
        self.address = "postgresql://workerd@%s" % (
            "{0}:{1[0]},{0}:{1[1]}/jobs".format(host, self.ports) if host
            else "/jobs?host=%s" % ",".join(self.sockets))

    def expect_ready(self):
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("PostgreSQL does not start")

    def control(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        self.expect_ready()

    def sql(self, text, database="jobs"):
        """The rows of a statement, as lists of texts."""
        run = subprocess.run(
            ["psql", "-qAtX", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", self.sockets[0],
             "-p", str(self.ports[0]),
             "-U", "workerd", "-d", database, "-c", text],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise OSError(run.stderr.strip() or "psql has failed")
        return [line.split("\t") for line in run.stdout.splitlines()]

    def set(self, name, value):
        """Changes a setting of the server; None takes the change back."""
        self.sql("ALTER SYSTEM RESET %s" % name if value is None
                 else "ALTER SYSTEM SET %s = '%s'" % (name, value))
        self.sql("SELECT pg_reload_conf()")

    def follow(self):
        """Makes a standby for which each commit waits from now on."""
        self.control("standby")
        self.set("synchronous_standby_names", "standby")
        until("the standby is synchronous", 30, lambda: self.sql(
            "SELECT pid FROM pg_stat_replication WHERE sync_state = 'sync'"))

    def fail_over(self):
        """Kills the server and promotes its standby."""
        self.control("failover")
        self.sockets.reverse()
        self.logs.reverse()
        self.ports.reverse()

    def sessions(self):
        """The backends of nodes by the nodes' names, and the one that holds the seat or None."""
        seat = "SELECT seat FROM workerd.threads WHERE name = 'probe'" if self.shares else "SELECT 1"
        rows = self.sql(
            "SELECT l.pid, n.name, EXISTS (SELECT FROM pg_locks s WHERE s.pid = l.pid"
            " AND s.locktype = 'advisory' AND s.granted AND s.classid = %d"
            " AND s.objid::bigint IN (" % SEAT_CLASS + seat + "))"
            " FROM pg_locks l JOIN workerd.nodes n ON n.id::oid = l.objid"
            " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = %d" % NODE_CLASS)
        seat = [int(pid) for pid, _, holds in rows if holds == "t"]
        return {name: int(pid) for pid, name, _ in rows}, seat[0] if seat else None

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Node:
    """A workerd that is one of several, as on a machine of its own."""

    def __init__(self, name, command, at, host, store, ledger, shares=False):
        """The command is the program, and the words in front of it."""
        self.name, self.command, self.at = name, command, "%s/%s" % (at, name)
        self.tcp = (host, 7711)
        self.process = None
        # The program of the first start, if it is another one; whether that runs.
        self.older, self.is_older = os.environ.get("OLDER"), False
        # The moments at which it was stopped and went on.
        self.stops = []
        # Whether clients reach it by its Unix socket only.
        self.is_cut = False
        # Set by a signal after which it may end with any status.
        self.is_expected_to_end = False
        os.mkdir(self.at)
        os.umask(0o077)
        with open(self.at + "/password", "w") as file:
            file.write(PASSWORD + "\n")
        os.umask(0o022)
        with open(self.at + "/workerd.json5", "w") as file:
            file.write(CONFIGURATION % {
                "at": self.at, "host": host, "port": 7711, "store": store, "name": name,
                "ledger": ledger, "shares": ", sharesThreads: true" if shares else "",
                "slots": ", slots: 4" if shares and not self.older else "",
                "results": RESULTS_MAX,
                "work": os.path.join(os.path.dirname(os.path.abspath(__file__)), "work")})

    def start(self):
        self.is_expected_to_end = False
        command = self.command
        self.is_older = bool(self.older)
        if self.older:
            command, self.older = command[:-1] + [self.older], None
        environment = dict(os.environ)
        if "CLOCK_SHIM" in environment:
            environment.update(
                LD_PRELOAD=environment["CLOCK_SHIM"], CLOCK_AHEAD=str(AHEAD[self.name]))
        with open(self.at + "/log", "ab") as log:
            self.process = subprocess.Popen(
                command + ["--config", self.at + "/workerd.json5"], stdout=log, stderr=log,
                env=environment)

    @property
    def is_running(self):
        return self.process.poll() is None

    def connect(self, chance, patience=60):
        """A client at one of its doors that has said the password."""
        client = Client(chance.choice([self.at + "/s"] + [self.tcp] * (not self.is_cut)), patience)
        client.call("AUTH", PASSWORD)
        return client

    def kill(self):
        self.is_expected_to_end = True
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.stops.append([time.clock_gettime(time.CLOCK_BOOTTIME), float("inf")])
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.stops[-1][1] = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.process.send_signal(signal.SIGCONT)

    def terminate(self):
        """Ends it in order; returns its status."""
        self.is_expected_to_end = True
        self.process.terminate()
        return self.process.wait(60)

    def log(self):
        with open(self.at + "/log", errors="replace") as file:
            return file.read()


class Fleet:
    """Three nodes with one database."""

    def __init__(self, at, binary, chance, shares=False):
        self.at, self.ledger = at, at + "/ledger"
        open(self.ledger, "w").close()
        os.chmod(at, 0o711)
        self.network, excuse = network(NAMES)
        if excuse:
            print("no cuts of the network: " + excuse, file=sys.stderr)
        self.server = Server(at, self.network and self.network.host, shares)
        # Addresses of this run alone: other workerd of this machine may have the port.
        loopback = "127.%d.%d" % (random.randrange(20, 220), random.randrange(1, 250))
        hosts = self.network.addresses if self.network else {
            name: "%s.%d" % (loopback, place + 1) for place, name in enumerate(NAMES)}
        self.nodes = [
            Node(name, (self.network.command(name) if self.network else []) + [binary], at,
                 hosts[name], self.server.address, self.ledger, shares)
            for name in NAMES]
        self.chance = chance
        self.faults = []
        for node in self.nodes:
            node.start()
        try:
            self.settle()
            self.server.sql(COPIES)
        except OSError:
            self.end()
            raise

    def any(self, chance):
        return chance.choice(self.nodes)

    def serving(self):
        """The node that serves, or None."""
        sessions, seat = self.server.sessions()
        names = [name for name, pid in sessions.items() if pid == seat]
        return next((node for node in self.nodes if node.name in names and node.is_running), None)

    def look_at_ends(self):
        """Notes nodes that have ended otherwise than by a lost seat or a promoted standby."""
        for node in self.nodes:
            if not node.is_running and not node.is_expected_to_end:
                status = node.process.returncode
                # An older one refuses the tables of a newer one when it takes over.
                if status not in (69, 75) and not (status == 78 and node.is_older):
                    self.faults.append("node %s ended with status %d" % (node.name, status))

    def tend(self):
        """Starts nodes that have ended by themselves, as a service manager does."""
        self.look_at_ends()
        for node in self.nodes:
            if not node.is_running:
                node.start()

    def settle(self):
        """Waits until all nodes live, one serves, and it answers at all of them."""
        def is_settled():
            self.tend()
            try:
                sessions, seat = self.server.sessions()
                if len(sessions) < len(self.nodes) or seat is None:
                    return False
                for node in self.nodes:
                    client = node.connect(self.chance, patience=15)
                    client.call("PING")
                    client.close()
                return True
            except (OSError, Refused):
                return False
        until("the nodes serve and wait", 90, is_settled)

    def end(self):
        for node in self.nodes:
            if node.is_running:
                node.process.kill()
                node.process.wait()
        self.server.end()
        if self.network:
            self.network.end()
