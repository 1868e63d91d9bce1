# redis-py, valkey and walrus, which have one interface: `redis_py.py MODULE`.
import asyncio
import importlib
import os
import sys

from conversation import check, jobs

module = importlib.import_module(sys.argv[1])
client_type = getattr(module, {"redis": "Redis", "valkey": "Valkey", "walrus": "Database"}[sys.argv[1]])


def converse(version):
    client = client_type(unix_socket_path=os.environ["WORKERD_SOCKET"], protocol=version)
    check(f"RESP {version}: PING", client.ping())
    information = client.client_info()
    check("CLIENT INFO", information["id"] == client.client_id(), information)
    check("CLIENT LIST", len(client.client_list()) > 0)
    check("INFO", client.info("replication")["role"] == "master")

    async def call(*words):
        return client.execute_command(*words)

    asyncio.run(jobs(call))
    pipeline = client.pipeline(transaction=False)
    for number in range(100):
        pipeline.execute_command("PERFORM", "images", "echo", "WAIT", str(number))
    replies = pipeline.execute()
    check("pipeline", replies == [b"%d" % number for number in range(100)], replies)

    before = client.info("jobs")["total_jobs_accepted"]
    pipeline = client.pipeline(transaction=True)
    pipeline.execute_command("PERFORM", "images", "echo", "never")
    try:
        seen = pipeline.execute()
    except Exception as error:
        # A class of the client's own name, whichever of these it is.
        seen = type(error).__name__
    after = client.info("jobs")["total_jobs_accepted"]
    check("refused transaction", seen == "ExecAbortError" and after == before, seen)
    observed = "OBSERVE" if version == 3 else "JOB"
    check(observed, client.execute_command(observed, 1))


for version in (2, 3):
    converse(version)
