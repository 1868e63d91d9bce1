# What every Python client is asked for, in the order of Scripts/clients. `call` sends one command and
# waits for its reply; each step prints its name once it has passed.

binary = bytes(range(256)) * 16


def field(reply, name):
    """A value of a map, which version 2 of the protocol sends as names and values in turns."""
    if not isinstance(reply, dict):
        reply = dict(zip(reply[::2], reply[1::2]))
    return {as_text(key): value for key, value in reply.items()}[name]


def as_text(value):
    return value.decode() if isinstance(value, bytes) else value


def check(step, condition, seen=None):
    if not condition:
        raise SystemExit(f"{step}: unexpected {seen!r}")
    print(step, flush=True)


async def jobs(call):
    number = await call("PERFORM", "images", "echo", "hello")
    check("PERFORM", isinstance(number, int), number)
    result = await call("PERFORM", "images", "echo", "WAIT", "hello")
    check("PERFORM WAIT", as_text(result) == "hello", result)
    job = await call("JOB", str(number))
    check("JOB", as_text(field(job, "state")) == "done", job)
    listed = await call("JOBS", "images", "LIMIT", "1")
    check("JOBS", len(listed) == 1 and as_text(field(listed[0], "selector")) == "echo", listed)
    number = await call("PERFORM", "images", "echo", binary)
    result = await call("RESULT", str(number), "WAIT")
    check("binary RESULT", result == binary, result)
