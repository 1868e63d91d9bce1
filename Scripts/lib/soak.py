"""Keeps a workerd busy with everything at once, and watches that it does not grow.

Used by Scripts/soak. Needs no package.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

import soak_reloads
from resp import Client, Refused, descriptor_kinds, sizes_of, start, verdict

THREADS = ["one", "two", "pool"]
PATHS = [b"/", b"/main.js", b"/metrics", b"/api/threads", b"/api/failures", b"/api/schedules",
         b"/healthz"]
SELECTORS = ["echo", "echo", "echo", "sha256", "fail", "sleep", "count", "jam", "nap"]
CLIENTS, WORKERS = 4, 2
# How many jobs wait at most, or nearly so; the fill at the start is a multiple of that.
WAITING_MAX, FILL = 1000, 5
# The clients that stay connected while the daemon is measured: also the one that measures and the
# one that reloads.
RESTING_CLIENTS = CLIENTS + WORKERS + 2
# The second half of the run may grow by so much, as a part of its mean.
GROWTH_MAX = 0.01
# A thread's loop keeps these once it has watched a descriptor: a set for each of its two busy
# modes, and a bell. The threads of one earlier count may still have theirs.
LOOP_KINDS, LOOP_MAX = ("anon_inode:[eventpoll]", "anon_inode:[eventfd]"), 6


class Trouble(Exception):
    """A promise that was broken."""


def payload(selector, chance):
    if selector == "sleep":
        return str(chance.randrange(5))
    return os.urandom(chance.choice([0, 10, 100, 5000]))


def submit(client, chance, jobs):
    selector = chance.choice(SELECTORS)
    options = []
    if chance.random() < 0.1:
        options += ["DELAY", chance.randrange(500)]
    if chance.random() < 0.2:
        options += ["KEY", "k%d" % chance.randrange(20)]
    if chance.random() < 0.1:
        options += ["UNIQUE", "u%d" % chance.randrange(10**9), "FOR", 5000]
    if chance.random() < 0.1:
        options += ["RETRY", 1] + (["BLOCK"] if chance.random() < 0.3 else [])
    if chance.random() < 0.1:
        options += ["EXPIRE", chance.randrange(1, 2000)]
    if chance.random() < 0.2:
        options += ["VOLATILE"]
    if chance.random() < 0.1:
        options += ["PRIORITY", chance.choice(["high", "low"])]
    thread = chance.choice(THREADS)
    if chance.random() < 0.2:
        thread, selector = "served", "work"
    job = client.call("PERFORM", thread, selector, *options, payload(selector, chance))
    jobs.append(job)
    if len(jobs) > 2000:
        del jobs[:1000]


def steer(client, chance, jobs):
    """One action of an operator."""
    job = chance.choice(jobs) if jobs else 1
    thread = chance.choice(THREADS)
    action = chance.randrange(14)
    if action == 0:
        client.call("PAUSE", thread)
    elif action in (1, 2):
        for name in THREADS:
            resume(client, name)
    elif action == 3:
        client.call("CANCEL", job)
    elif action == 4:
        client.call("BUFFER", thread, "echo", "b")
    elif action == 5:
        client.call("FIRE", thread)
    elif action == 6:
        client.call("RETRY", "ALL", chance.choice(["fail", "jam"]))
    elif action == 7:
        client.call("BULK", "DROP", "SELECTOR", "fail")
    elif action == 8:
        client.call("SCHEDULE", "s%d" % chance.randrange(5), "EVERY", 300, thread, "echo", "tick")
    elif action == 9:
        client.call("UNSCHEDULE", "s%d" % chance.randrange(5))
    elif action == 10:
        client.call("FAILURES")
    elif action == 11:
        client.call("JOBS", "LIMIT", 200)
    elif action == 12:
        client.call("JOB", job)
    else:
        client.call("CANCEL", thread, "sleep")


def ask(path, target):
    """One request of HTTP, on a connection of its own."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(path)
        connection.sendall(
            b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % target)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    if not answer.startswith(b"HTTP/1.1 200"):
        raise Trouble("%s is answered with %s" % (target, answer[:60]))


def kill_program(process, chance):
    """Kills one of the programs that workerd runs, with SIGKILL."""
    children = []
    for task in os.listdir("/proc/%d/task" % process):
        try:
            with open("/proc/%d/task/%s/children" % (process, task)) as file:
                children += [int(word) for word in file.read().split()]
        except OSError:
            continue  # The thread has ended.
    if children:
        try:
            os.kill(chance.choice(children), signal.SIGKILL)
        except ProcessLookupError:
            pass


def vanish(path, chance):
    """A client that leaves in the middle of a command, or of a large answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(chance.choice([
            b"*4\r\n$7\r\nPERFORM\r\n$3\r\none\r\n$4\r\nec", b"*3\r\n$4\r\nJOBS\r\n$5\r\nLIMIT\r\n$4\r\n9999\r\n"]))


def resume(client, thread):
    """Resumes a thread that the present configuration may lack."""
    try:
        client.call("RESUME", thread)
    except Refused as error:
        if not str(error).startswith("NOTHREAD"):
            raise


def reach_high_water(client, chance, count):
    """Fills the queues once, further than the run does.

    Memory that an allocator has once given to a crowd of jobs stays in use in part. Without this,
    the largest crowd so far would come later and later, and look like growth.
    """
    for name in THREADS:
        client.call("PAUSE", name)
    for _ in range(count):
        try:
            submit(client, chance, [])
        except Refused as error:
            if not str(error).startswith("BUSY"):
                raise
    for name in THREADS:
        client.call("RESUME", name)
    while int(client.figures("jobs")["waiting_jobs"]) > WAITING_MAX:
        time.sleep(0.1)


def client_for_ever(at, configuration, seed, gate, end, faults, allowed):
    """Submits, steers, asks and vanishes until the end."""
    chance, jobs, client = random.Random(seed), [], Client(at + "/s")
    while not end.is_set():
        try:
            with gate:
                act(client, at, configuration, chance, jobs, lambda: gate.is_closed or end.is_set())
                if chance.random() < 0.02:
                    client.close()
                    client = Client(at + "/s")
            time.sleep(chance.random() * 0.02)
        except Refused as error:
            if str(error).split()[0] not in allowed:
                faults.append("client %d: %s" % (seed, error))
        except (OSError, Trouble) as error:
            faults.append("client %d: %r" % (seed, error))
            end.set()


def act(client, at, configuration, chance, jobs, is_over):
    """One round of a client."""
    for _ in range(chance.randrange(30)):
        submit(client, chance, jobs)
    # Programs take longer than submits: the queues would grow, and hide any other growth.
    while not is_over() and int(client.figures("jobs")["waiting_jobs"]) > WAITING_MAX:
        for name in THREADS:
            resume(client, name)
        time.sleep(0.05)
    if chance.random() < 0.5:
        steer(client, chance, jobs)
    if chance.random() < 0.05:
        ask(at + "/h", chance.choice(PATHS))
    if chance.random() < 0.02:
        soak_reloads.ask_encrypted(configuration)
    if chance.random() < 0.05:
        vanish(at + "/s", chance)


def worker_for_ever(path, name):
    """Serves `work`; this process is killed now and then."""
    client = Client(path)
    while True:
        try:
            job = client.call("TAKE", "AS", name, "WAIT", 1000, "FROM", "work")
            if job:
                client.call("DONE", job[0], job[1], "")
        except Refused:
            pass


def growth(values):
    """How much the second half grows: its slope over its time, as a part of its mean."""
    half = values[len(values) // 2:]
    count = len(half)
    mean = sum(half) / count
    middle = (count - 1) / 2
    slope = sum((place - middle) * (value - mean) for place, value in enumerate(half)) / max(
        1, sum((place - middle) ** 2 for place in range(count)))
    return slope * count / max(mean, 1)


def measure(client, configuration, gate, daemon):
    """The sizes of the daemon while no client asks for anything and no job runs.

    How many threads have run a program since the last reload is chance, so the descriptors of loops
    have a limit of their own and are not counted.
    """
    gate.close()
    configuration.put(soak_reloads.WHOLE)
    client.call("RELOAD")
    for name in THREADS + ["served"]:
        client.call("PAUSE", name)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        figures = client.figures("all")
        if figures["running_jobs"] == "0" and int(figures["connected_clients"]) == RESTING_CLIENTS:
            break
        time.sleep(0.02)
    sizes, kinds = sizes_of(daemon.pid), descriptor_kinds(daemon.pid)
    of_loops = {kind: kinds.pop(kind, 0) for kind in LOOP_KINDS}
    if sum(of_loops.values()) > LOOP_MAX * sizes["threads"]:
        raise SystemExit(
            "%d threads have too many descriptors of loops: %s" % (sizes["threads"], of_loops))
    sizes["descriptors"] = sum(kinds.values())
    for name in THREADS + ["served"]:
        client.call("RESUME", name)
    gate.open()
    return sizes, kinds


def grown_kinds(kinds):
    """Which kinds of descriptors became more in the second half, and by how many."""
    half = kinds[len(kinds) // 2:]
    part = max(1, len(half) // 5)
    first, last = sum(half[:part], Counter()), sum(half[-part:], Counter())
    return ["%s by %.1f" % (kind, (last[kind] - first[kind]) / part)
            for kind in sorted(last) if last[kind] - first[kind] >= part / 2]


def draw(samples, path, seconds):
    """A picture of each figure over time, from 0 to its maximum."""
    width, height, rows = 720, 120, []
    for row, name in enumerate(samples[0]):
        values = [sample[name] for sample in samples]
        top = max(values) * 1.1
        points = " ".join(
            "%.1f,%.1f" % (60 + place * width / max(1, len(values) - 1),
                           row * (height + 40) + 20 + height * (1 - value / top))
            for place, value in enumerate(values))
        rows.append(
            '<text x="60" y="%d">%s: %.0f at the end, at most %.0f</text>'
            '<polyline fill="none" stroke="currentColor" points="%s"/>' % (
                row * (height + 40) + 14, name, values[-1], max(values), points))
    with open(path, "w") as file:
        file.write(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 %d" '
            'font-family="sans-serif" font-size="13"><style>svg{color:#222}</style>%s'
            '<text x="60" y="%d">%d seconds</text></svg>\n' % (
                len(rows) * (height + 40) + 20, "".join(rows), len(rows) * (height + 40) + 8,
                seconds))


def settle(client):
    """Lets everything end, and checks the books."""
    for name in THREADS:
        client.call("RESUME", name)
        client.call("FIRE", name)
    for number in range(5):
        client.call("UNSCHEDULE", "s%d" % number)
    deadline = time.monotonic() + 120
    names = ("waiting_jobs", "running_jobs", "delayed_jobs", "buffered_jobs")
    figures = {}
    while time.monotonic() < deadline:
        figures = client.figures("jobs")
        if all(figures[name] == "0" for name in names):
            break
        time.sleep(0.2)
    wrong = {name: figures[name] for name in names if figures[name] != "0"}
    everything = client.figures("all")
    wrong |= {name: everything[name] for name in ("stalled_queues", "miscounts")
              if everything.get(name, "0") != "0"}
    return ["in the end, %s is %s" % pair for pair in wrong.items()]


def main(binary, seconds, seed, picture):
    chance = random.Random(seed)
    at = tempfile.mkdtemp(prefix="workerd-soak-")
    configuration = soak_reloads.Configuration(at)
    daemon, client = start(binary, at)
    faults, end, samples, kinds = [], threading.Event(), [], []
    allowed = {"NOJOB", "ERR", "BUSY", "NOSELECTOR", "NOTHREAD", "STALE"}
    tally = {"reloads": 0, "refused": 0}
    gate = soak_reloads.Gate()
    clients = [threading.Thread(
        target=client_for_ever, args=(at, configuration, seed + n, gate, end, faults, allowed))
        for n in range(CLIENTS)]
    clients.append(threading.Thread(
        target=soak_reloads.reload_for_ever,
        args=(configuration, daemon, random.Random(seed + 4), gate, end, faults, tally)))
    clients += [threading.Thread(
        target=soak_reloads.read_streams_for_ever,
        args=(at, random.Random(seed + n), gate, end, faults)) for n in (5, 6)]

    def hire(number):
        return subprocess.Popen(
            [sys.executable, "-B", __file__, "worker", at + "/s", "worker-%d" % number])

    workers = [hire(number) for number in range(WORKERS)]
    try:
        reach_high_water(client, random.Random(seed + 7), min(FILL * WAITING_MAX, 20 * seconds))
        for thread in clients:
            thread.start()
        began = time.monotonic()
        pause = max(0.2, seconds / 600)
        while time.monotonic() < began + seconds and not faults:
            time.sleep(pause)
            sizes, open_kinds = measure(client, configuration, gate, daemon)
            samples.append(sizes)
            kinds.append(open_kinds)
            if daemon.poll() is not None:
                raise SystemExit("workerd has ended: see " + at)
            if chance.random() < 0.2:
                number = chance.randrange(WORKERS)
                workers[number].kill()
                workers[number].wait()
                workers[number] = hire(number)
            if chance.random() < 0.3:
                kill_program(daemon.pid, chance)
        end.set()
        for thread in clients:
            thread.join()
        configuration.put(soak_reloads.WHOLE)
        client.call("RELOAD")
        faults += settle(client)
        done = client.figures("jobs")
        if len(samples) > 20:
            faults += ["%s grows by %.1f %%" % (name, 100 * part) for name, part in (
                (name, growth([sample[name] for sample in samples])) for name in samples[0])
                if part > GROWTH_MAX]
            if any(fault.startswith("descriptors") for fault in faults):
                faults += ["more descriptors: %s" % kind for kind in grown_kinds(kinds)]
        draw(samples, picture, seconds)
        last = samples[-1]
        print("%s jobs done, %s failed, %s cancelled; %d reloads, %d refused; "
              "%.0f MB, %d descriptors, %d threads; %s" % (
                  done["total_jobs_done"], done["total_jobs_failed"], done["total_jobs_cancelled"],
                  tally["reloads"], tally["refused"],
                  last["memory"], last["descriptors"], last["threads"], picture))
    finally:
        end.set()
        for process in workers:
            process.kill()
            process.wait()
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
    return verdict(faults, at, seed)


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker_for_ever(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
