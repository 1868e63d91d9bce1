# coredis, which refuses a server whose version it does not know.
import asyncio
import os

import coredis
from conversation import check, jobs


async def converse():
    client = coredis.Redis(
        host=os.environ["WORKERD_HOST"], port=int(os.environ["WORKERD_PORT"]),
        password=os.environ["WORKERD_PASSWORD"], verify_version=True)
    async with client:
        check("RESP 3: PING", await client.ping() in ("PONG", b"PONG"))
        information = await client.client_info()
        check("CLIENT INFO", information["id"] == await client.client_id(), information)
        check("CLIENT LIST", len(await client.client_list()) > 0)
        information = await client.info("replication")
        check("INFO", information["role"] == "master", information)

        async def call(*words):
            return await request(client, *words)

        await jobs(call)
        async with client.pipeline(transaction=False) as pipeline:
            requests = [
                request(pipeline, "PERFORM", "images", "echo", "WAIT", str(number))
                for number in range(100)]
        replies = [await one for one in requests]
        check("pipeline", replies == [b"%d" % number for number in range(100)], replies)
        seen = None
        try:
            async with client.pipeline(transaction=True) as pipeline:
                request(pipeline, "PERFORM", "images", "echo", "never")
        except coredis.exceptions.ExecAbortError as error:
            seen = error
        check("refused transaction", seen is not None)
        check("PING after it", await client.ping() in ("PONG", b"PONG"))


def request(client, name, *arguments):
    """A command that coredis has no method for, answered as it comes."""
    return client.create_request(name.encode(), *arguments, callback=lambda reply, *_, **__: reply)


asyncio.run(converse())
