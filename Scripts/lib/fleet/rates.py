"""How many jobs a second a workerd with a PostgreSQL takes, through its own door and another node's.

Used by Scripts/rates. Needs redis-benchmark and pgbench.
"""

import csv
import os
import random
import subprocess
import sys
import tempfile
import time

from nodes import Node, Server, await_rest, until
from resp import Client, Refused

BATCH, PAYLOAD = 64, "x" * 64
# The plainest batch of jobs, as pgbench sends it: one row each, nothing else in the transaction.
TABLE = """CREATE SEQUENCE batches; CREATE TABLE plain (id bigint PRIMARY KEY, priority bigint,
    held bigint, retries bigint, accepted_at bigint, thread text, selector text, payload bytea)"""
INSERT = """WITH batch AS (SELECT nextval('batches') AS number) INSERT INTO plain
    SELECT number * %d + place, 1, 0, 0, 0, 'one', 'echo', '%s'::bytea
    FROM batch, generate_series(1, %d) AS place;\n""" % (BATCH, PAYLOAD, BATCH)


# A job as queues in SQL do it: a row, which a consumer takes, passing over locked ones, hides for a
# while, and deletes when it is done.
QUEUE = """CREATE TABLE queue (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    visible_at timestamptz NOT NULL DEFAULT now(), payload bytea NOT NULL);
    CREATE INDEX queue_visible ON queue (visible_at)"""
PRODUCE = "INSERT INTO queue (payload) VALUES ('%s'::bytea);\n" % PAYLOAD
CONSUME = """WITH taken AS (UPDATE queue SET visible_at = now() + interval '30 s' WHERE id = (
    SELECT id FROM queue WHERE visible_at <= now() ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id) SELECT coalesce(max(id), 0) AS id FROM taken \\gset
    DELETE FROM queue WHERE id = :id;\n"""


def rate(server, at, script, clients, seconds=5):
    """The transactions a second of some sessions."""
    with open(at + "/script.sql", "w") as file:
        file.write(script)
    run = subprocess.run(
        ["pgbench", "-n", "-h", server.sockets[0], "-U", "workerd", "-M", "prepared",
         "-c", str(clients), "-T", str(seconds), "-f", at + "/script.sql", "jobs"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    rates = [line.split()[2] for line in run.stdout.splitlines() if line.startswith("tps")]
    return float(rates[0])


def floors(server, at):
    """Prints the limit of one session, and what a queue in SQL does."""
    server.sql(TABLE)
    print("a plain batch of %d rows, one session: %d jobs/s" % (
        BATCH, rate(server, at, INSERT, 1) * BATCH))
    server.sql(QUEUE)
    # Each consumer has a row of its own in front of it.
    print("a queue with SKIP LOCKED, 32 sessions, each adds, takes and deletes: %d jobs/s" % (
        rate(server, at, PRODUCE + CONSUME, 32)))


def measure(node, clients, pipelined, count, *words):
    """Jobs a second, and the median and 99th percentile of an answer in milliseconds."""
    run = subprocess.run(
        ["redis-benchmark", "-h", node.tcp[0], "-p", str(node.tcp[1]), "-a", "fleet",
         "-c", str(clients), "-P", str(pipelined), "-n", str(count), "--csv", "PERFORM"]
        + list(words) + [PAYLOAD],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    row = list(csv.reader(run.stdout.splitlines()))[-1]
    return float(row[1]), float(row[4]), float(row[6])


def owner(server, nodes, thread):
    """The node that has a thread, if nodes share the threads."""
    name, = server.sql("SELECT n.name FROM workerd.threads t JOIN workerd.nodes n USING (seat)"
                       " WHERE t.name = '%s'" % thread)
    return next(node for node in nodes if [node.name] == name)


def rival(server, python):
    """Has procrastinate print its rates, with a database of its own on the same server."""
    server.sql("CREATE DATABASE rival OWNER workerd")
    subprocess.run(
        [python, "-B", os.path.join(os.path.dirname(__file__), "procrastinate_rival.py"),
         "host=%s user=workerd dbname=rival" % server.sockets[0]], check=True)


def hold(server, nodes, chance, seconds):
    """Prints the rate every ten seconds while another transaction is open, and a takeover's time."""
    # redis-benchmark may give up after a last batch that is not whole.
    round_count = 4_700 * BATCH
    node = owner(server, nodes, "one")
    other, = [other for other in nodes if other is not node]

    def print_rate(words, count):
        print("%-44s %9d %8.2f %8.2f" % (
            (words,) + measure(node, 1, 64, count, "one", "echo", "WAIT")), flush=True)
    print_rate("before", 3_000 * BATCH)
    session = subprocess.Popen(
        ["psql", "-qAtX", "-h", server.sockets[0], "-U", "workerd", "jobs"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    session.stdin.write(
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM workerd.jobs;\n")
    session.stdin.flush()
    session.stdout.readline()
    begin, ended = time.monotonic(), 0
    while time.monotonic() < begin + seconds:
        print_rate("open for %d s" % (time.monotonic() - begin), round_count)
        ended += round_count
    print("%d jobs have ended; the database has %s" % (ended, server.sql(
        "SELECT pg_size_pretty(pg_database_size('jobs'))")[0][0]))
    client, begin = other.connect(chance), time.monotonic()
    node.kill()

    def is_done():
        try:
            return client.call("PERFORM", "one", "echo", "WAIT", PAYLOAD)
        except Refused:
            return False
    until("node %s has taken over" % other.name, 120, is_done)
    print("taken over after %.1f s" % (time.monotonic() - begin))
    session.stdin.close()
    session.wait()
    nodes.remove(node)


def main(binary, shares, python, held):
    at = tempfile.mkdtemp(prefix="workerd-rates-")
    os.chmod(at, 0o711)
    server, nodes, chance = Server(at, shares=shares), [], random.Random(1)
    try:
        if held is None:
            floors(server, at)
        if python:
            rival(server, python)
        network = "127.%d.%d" % (random.randrange(20, 220), random.randrange(1, 250))
        for place, name in enumerate(("a", "b")):
            node = Node(name, [binary], at, "%s.%d" % (network, place + 1), server.address,
                        at + "/ledger", shares)
            nodes.append(node)
            node.start()

            def answers():
                try:
                    node.connect(chance).call("PING")
                    return True
                except (OSError, Refused):
                    return False
            until("node %s answers" % name, 30, answers)
            time.sleep(1)
        if shares:
            await_rest(server)
        if held is not None:
            return hold(server, nodes, chance, held)
        nodes[0].connect(chance).call("PAUSE", "two")

        def pair(thread):
            """The node that has a thread, and the other one."""
            first = owner(server, nodes, thread) if shares else nodes[0]
            return first, next(node for node in nodes if node is not first)
        print("%-44s %9s %8s %8s" % ("", "jobs/s", "p50 ms", "p99 ms"))
        for place, door in enumerate(("", ", through another node")):
            for title, words, counts in (
                    ("accepted", ("two", "echo"), (4_700 * BATCH, 80_000)),
                    ("run and recorded", ("one", "echo", "WAIT"), (2_400 * BATCH, 60_000))):
                node = pair(words[0])[place]
                for (clients, pipelined), count in zip(((1, 64), (32, 1)), counts):
                    print("%-44s %9d %8.2f %8.2f" % (
                        ("%s, %d x %d%s" % (title, clients, pipelined, door),)
                        + measure(node, clients, pipelined, count, *words)), flush=True)
            print("%-44s %9d %8.2f %8.2f" % (
                ("run and recorded, 1 x 1%s" % door,)
                + measure(pair("one")[place], 1, 1, 5_000, "one", "echo", "WAIT")), flush=True)
    finally:
        for node in nodes:
            node.terminate()
        server.end()


if __name__ == "__main__":
    main(sys.argv[1], "--shared" in sys.argv[2:], os.environ.get("RIVAL_PYTHON"),
         int(sys.argv[sys.argv.index("--held") + 1]) if "--held" in sys.argv else None)
