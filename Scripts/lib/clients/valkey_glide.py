# valkey-glide, through TCP with a password.
import asyncio
import os

import glide
from conversation import as_text, check, jobs


async def converse(version):
    node = glide.NodeAddress(os.environ["WORKERD_HOST"], int(os.environ["WORKERD_PORT"]))
    client = await glide.GlideClient.create(
        glide.GlideClientConfiguration(
            [node], protocol=version, request_timeout=20_000,
            credentials=glide.ServerCredentials(password=os.environ["WORKERD_PASSWORD"])))
    check(f"{version.name}: PING", await client.ping() == b"PONG")
    number = await client.client_id()
    information = await client.custom_command(["CLIENT", "INFO"])
    check("CLIENT INFO", as_text(information).startswith(f"id={number} "), information)
    information = await client.info([glide.InfoSection.REPLICATION])
    check("INFO", b"role:master" in information, information)
    await jobs(lambda *words: client.custom_command(list(words)))

    batch = glide.Batch(is_atomic=False)
    for number in range(100):
        batch.custom_command(["PERFORM", "images", "echo", "WAIT", str(number)])
    replies = await client.exec(batch, raise_on_error=True)
    check("pipeline", replies == [b"%d" % number for number in range(100)], replies)
    batch = glide.Batch(is_atomic=True)
    batch.custom_command(["PERFORM", "images", "echo", "never"])
    try:
        seen = await client.exec(batch, raise_on_error=True)
    except glide.RequestError as error:
        seen = str(error)
    check("refused transaction", "nothing behind MULTI was executed" in str(seen), seen)
    check("PING after it", await client.ping() == b"PONG")
    await client.close()


for version in (glide.ProtocolVersion.RESP2, glide.ProtocolVersion.RESP3):
    asyncio.run(converse(version))
