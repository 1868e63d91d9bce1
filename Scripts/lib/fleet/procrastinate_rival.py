"""How many jobs a second procrastinate takes and runs, a queue in PostgreSQL for Python.

Used by Scripts/rates, with a python that has the packages procrastinate and psycopg.
Source: procrastinate.readthedocs.io, "Launch a worker" and "Defer multiple jobs at once".
"""

import asyncio
import logging
import sys
import time

from procrastinate import App, PsycopgConnector

BATCH, PAYLOAD, SESSIONS, ROUNDS = 64, "x" * 64, 32, 50


def show(title, count, since):
    print("%-44s %9d" % ("procrastinate: " + title, count / (time.monotonic() - since)), flush=True)


async def main(address):
    app = App(connector=PsycopgConnector(conninfo=address, max_size=SESSIONS))

    @app.task
    async def echo(payload):
        return None

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        jobs = [{"payload": PAYLOAD}] * BATCH
        begin = time.monotonic()
        for _ in range(ROUNDS):
            await echo.batch_defer_async(*jobs)
        show("accepted, batches of %d" % BATCH, ROUNDS * BATCH, begin)

        async def defer():
            for _ in range(ROUNDS):
                await echo.defer_async(payload=PAYLOAD)
        begin = time.monotonic()
        await asyncio.gather(*(defer() for _ in range(SESSIONS)))
        show("accepted, %d x 1" % SESSIONS, ROUNDS * SESSIONS, begin)
        begin = time.monotonic()
        await app.run_worker_async(concurrency=SESSIONS, wait=False)
        left = list(await app.job_manager.list_jobs_async(status="todo"))
        if left:
            raise SystemExit("%d jobs are left" % len(left))
        show("run, %d at a time" % SESSIONS, ROUNDS * (BATCH + SESSIONS), begin)


logging.disable(logging.WARNING)
asyncio.run(main(sys.argv[1]))
