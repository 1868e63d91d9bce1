"""Kills workers and workerd at random moments, and checks what became of the jobs.

Used by Scripts/kill-workers. Needs no package.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from resp import Client, Refused, start, verdict

CONFIGURATION = """
{ listen: { unix: "%(at)s/s" }, store: "%(at)s/jobs.sqlite", log: { level: "notice" },
  threads: { one: {}, two: {}, pool: { count: 3 } },
  limits: { retainedResults: 1000000 },
  selectors: { work: { worker: true, lease: "500ms", lost: 1000 } } }
"""


def worker(path, name, record):
    """Takes jobs for ever; writes down each beginning and each end, each as one line."""
    notes = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(word, job, token, attempt=0):
        line = "%s %d %s %.6f %d %d\n" % (
            word, job, token.decode(), time.monotonic(), os.getpid(), attempt)
        os.write(notes, line.encode())

    chance = random.Random(os.getpid())
    client, said = None, None
    while True:
        try:
            client = client or Client(path)
            if said:
                # Said again after the connection was lost: the answer may have been OK.
                words, job, token = said
                try:
                    client.call(*words)
                    note("K", job, token)
                except Refused as error:
                    if "STALE" not in str(error):
                        raise
                said = None
            taken = client.call("TAKE", "AS", name, "WAIT", 1000, "FROM", "work")
            if taken is None:
                continue
            job, token = taken[0], taken[1]
            note("B", job, token, taken[4])
            time.sleep(chance.random() * 0.004)
            note("E", job, token)
            if chance.random() < 0.05:
                note("G", job, token)
                client.call("GIVEBACK", job, token, "AFTER", 1)
            else:
                said = (("DONE", job, token, "r%d" % job), job, token)
                client.call(*said[0])
                note("K", job, token)
                said = None
        except (OSError, Refused):
            client = None
            time.sleep(0.01)


def check(at, accepted, kills, result):
    """Compares what the workers have written down with what was accepted."""
    attempts, ended, told, back = {}, set(), {}, set()
    for name in os.listdir(at):
        if not name.startswith("notes-"):
            continue
        for line in open(at + "/" + name):
            word, job, token, moment, process, attempt = line.split()
            key = (int(job), token, int(process))
            if word == "K":
                ended.add(int(job))
            elif word == "B":
                attempts.setdefault(key, [float(moment), None])
                told[token] = int(attempt)
            elif word == "G":
                back.add(token)
            else:
                attempts[key][1] = float(moment)
    begun = {job for job, _, _ in attempts}
    faults = []
    for job in accepted:
        # A worker that was killed between DONE and its answer has not written down its end.
        if result(job) != b"r%d" % job:
            faults.append("job %d has no result" % job)
        elif job not in begun:
            faults.append("job %d has a result, and never began" % job)
    faults += ["job %d ended with OK, and was not accepted" % job for job in ended - set(accepted)]
    by_job = {}
    for (job, token, process), (begin, end) in attempts.items():
        by_job.setdefault(job, []).append((begin, end, token, process))

    def over(end, process):
        """When a worker has let go: a killed one has no end, it ended when it was killed."""
        return min([end] * (end is not None) + [t for p, t in kills if p == process] + [1e18])

    overlaps = 0
    for job, runs in by_job.items():
        runs.sort()
        for (begin, end, token, process), (later, _, other, follower) in zip(runs, runs[1:]):
            if later < over(end, process) and (token, process) != (other, follower):
                overlaps += 1
                faults.append("job %d was held by two workers at once" % job)
            if token != other and token not in back and told[other] <= told[token]:
                faults.append("job %d was not told that it began before" % job)
    orders = ("one", "two", "pool/k1", "pool/k2", "pool/k3")
    for thread in orders:
        runs = sorted(run + (job,) for job in by_job if accepted.get(job) == thread
                      for run in by_job[job])
        for (begin, end, _, process, job), (later, _, _, _, follower) in zip(runs, runs[1:]):
            if job != follower and later < over(end, process):
                overlaps += 1
                faults.append("thread %s: job %d began during job %d" % (thread, follower, job))
    for thread in orders:
        # The first beginnings of jobs of a thread or key are in the order of the numbers.
        firsts = [min(by_job[job])[0] for job in sorted(accepted)
                  if accepted[job] == thread and job in by_job]
        if firsts != sorted(firsts):
            faults.append("thread %s: out of order" % thread)
    again = sum(len(runs) - 1 for runs in by_job.values())
    print("%d jobs accepted, %d ended, %d delivered again, %d overlaps" % (
        len(accepted), len(ended & set(accepted)), again, overlaps))
    return faults


def main(binary, rounds, seed):
    chance = random.Random(seed)
    at = tempfile.mkdtemp(prefix="workerd-workers-")
    with open(at + "/workerd.json5", "w") as file:
        file.write(CONFIGURATION % {"at": at})
    daemon, client = start(binary, at)
    kills, accepted, workers, number = [], {}, [], 0

    def hire(place):
        process = subprocess.Popen([sys.executable, __file__, "worker", at + "/s",
                                    "worker-%d" % place, at + "/notes-%d-%d" % (place, len(kills))])
        return process

    workers = [hire(place) for place in range(4)]
    try:
        for _ in range(rounds):
            for _ in range(chance.randrange(12)):
                number += 1
                # A job of the pool has one of three keys, or none.
                order = chance.choice(["one", "two", "pool", "pool/k1", "pool/k2", "pool/k3"])
                thread, _, key = order.partition("/")
                more = ["KEY", key] if key else []
                name = "n%d" % number
                while True:
                    try:
                        job = client.call("PERFORM", thread, "work", "UNIQUE", name, *more, name)
                        break
                    except (OSError, Refused):
                        daemon, client = start(binary, at) if daemon.poll() is not None else (
                            daemon, Client(at + "/s"))
                accepted[job] = order
            time.sleep(chance.random() * 0.02)
            kind = chance.random()
            if kind < 0.45:
                place = chance.randrange(len(workers))
                # Before: workerd may see its end sooner than this process does.
                kills.append((workers[place].pid, time.monotonic()))
                workers[place].kill()
                workers[place].wait()
                workers[place] = hire(place)
            elif kind < 0.55:
                daemon.send_signal(signal.SIGKILL)
                daemon.wait()
                daemon, client = start(binary, at)
            elif kind < 0.6:
                daemon.terminate()
                daemon.wait()
                daemon, client = start(binary, at)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            figures = client.figures("jobs")
            if all(figures[name] == "0" for name in ("waiting_jobs", "running_jobs")):
                break
            time.sleep(0.1)
        for process in workers:
            process.kill()
            process.wait()

        def result(job):
            try:
                return client.call("RESULT", job)
            except Refused as error:
                return str(error)

        faults = check(at, accepted, kills, result)
    finally:
        for process in workers:
            process.kill()
        daemon.terminate()
        daemon.wait()
    return verdict(faults, at, seed)


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
