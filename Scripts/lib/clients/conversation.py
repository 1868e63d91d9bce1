# The steps of every Python client, in the order of Scripts/clients. `call` sends one command and
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
    # As a worker, with the bytes of a picture; another connection may still have an earlier name.
    worker = f"turner-{number}"
    number = await call("PERFORM", "images", "turn", binary)
    taken = await call("TAKE", "AS", worker, "WAIT", "20000", "FROM", "turn")
    check("TAKE", taken[0] == number and taken[-1] == binary, taken)
    token = as_text(taken[1])
    going = await call("REPORT", str(number), token, "50", "half")
    check("REPORT", as_text(going) == "go", going)
    said = await call("DONE", str(number), token, binary[::-1])
    check("DONE", as_text(said) == "OK" or said is True, said)
    result = await call("RESULT", str(number))
    check("RESULT of a worker", result == binary[::-1], result)
    number = await call("PERFORM", "images", "turn", "x")
    taken = await call("TAKE", "AS", worker, "WAIT", "20000", "FROM", "turn")
    said = await call("FAIL", str(number), as_text(taken[1]), "FINAL", "no paper")
    check("FAIL", as_text(said) == "OK" or said is True, said)
    job = await call("JOB", str(number))
    check("failure of a worker", as_text(field(job, "failure")) == "no paper", job)
