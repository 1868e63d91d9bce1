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

from nodes import Node, Server, until
from resp import Client, Refused

BATCH, PAYLOAD = 64, "x" * 64
# The plainest batch of jobs, as pgbench sends it: one row each, nothing else in the transaction.
TABLE = """CREATE SEQUENCE batches; CREATE TABLE plain (id bigint PRIMARY KEY, priority bigint,
    held bigint, retries bigint, accepted_at bigint, thread text, selector text, payload bytea)"""
INSERT = """WITH batch AS (SELECT nextval('batches') AS number) INSERT INTO plain
    SELECT number * %d + place, 1, 0, 0, 0, 'one', 'echo', '%s'::bytea
    FROM batch, generate_series(1, %d) AS place;\n""" % (BATCH, PAYLOAD, BATCH)


def floor(server, at, seconds=5):
    """Plain batches a second of one session, as jobs a second."""
    server.sql(TABLE)
    with open(at + "/insert.sql", "w") as file:
        file.write(INSERT)
    run = subprocess.run(
        ["pgbench", "-n", "-h", server.sockets[0], "-U", "workerd", "-M", "prepared", "-c", "1",
         "-T", str(seconds), "-f", at + "/insert.sql", "jobs"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    rates = [line.split()[2] for line in run.stdout.splitlines() if line.startswith("tps")]
    return float(rates[0]) * BATCH


def measure(node, clients, pipelined, count, *words):
    """Jobs a second, and the median and 99th percentile of an answer in milliseconds."""
    run = subprocess.run(
        ["redis-benchmark", "-h", node.tcp[0], "-p", str(node.tcp[1]), "-a", "fleet",
         "-c", str(clients), "-P", str(pipelined), "-n", str(count), "--csv", "PERFORM"]
        + list(words) + [PAYLOAD],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    row = list(csv.reader(run.stdout.splitlines()))[-1]
    return float(row[1]), float(row[4]), float(row[6])


def main(binary):
    at = tempfile.mkdtemp(prefix="workerd-rates-")
    os.chmod(at, 0o711)
    server, nodes, chance = Server(at), [], random.Random(1)
    try:
        print("a plain batch of %d rows, one session: %d jobs/s" % (BATCH, floor(server, at)))
        network = "127.%d.%d" % (random.randrange(20, 220), random.randrange(1, 250))
        for place, name in enumerate(("a", "b")):
            node = Node(name, [binary], at, "%s.%d" % (network, place + 1), server.address,
                        at + "/ledger")
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
        nodes[0].connect(chance).call("PAUSE", "two")
        print("%-44s %9s %8s %8s" % ("", "jobs/s", "p50 ms", "p99 ms"))
        for node, door in zip(nodes, ("", ", through a waiting node")):
            for title, words, counts in (
                    ("accepted", ("two", "echo"), (300_000, 80_000)),
                    ("run and recorded", ("one", "echo", "WAIT"), (150_000, 60_000))):
                for (clients, pipelined), count in zip(((1, 64), (32, 1)), counts):
                    print("%-44s %9d %8.2f %8.2f" % (
                        ("%s, %d x %d%s" % (title, clients, pipelined, door),)
                        + measure(node, clients, pipelined, count, *words)), flush=True)
            print("%-44s %9d %8.2f %8.2f" % (
                ("run and recorded, 1 x 1%s" % door,)
                + measure(node, 1, 1, 5_000, "one", "echo", "WAIT")), flush=True)
    finally:
        for node in nodes:
            node.terminate()
        server.end()


if __name__ == "__main__":
    main(sys.argv[1])
