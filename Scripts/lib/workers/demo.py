"""Workers on real files, one of which is killed and one of which hangs, while workerd is restarted.

    demo.py WORKERD DIRECTORY [--quick]

Used by Scripts/worker-demo.
"""

import gzip
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from resp import Client, Refused, start, verdict

CONFIGURATION = """
{ listen: { unix: "%(at)s/s" }, store: "%(at)s/jobs.sqlite",
  threads: { one: {}, two: {}, pool: { count: 2 } },
  limits: { retainedResults: 10000, retainedBytes: "1GB" },
  selectors: { gzip: { worker: true }, digest: { worker: true } } }
"""
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 60


def worker(path, name, notes_path):
    """Takes jobs for ever; writes down each beginning and each end that was answered with OK."""
    notes = os.open(notes_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    client = None

    def ask(*words):
        nonlocal client
        while True:
            try:
                client = client or Client(path)
                return client.call(*words)
            except OSError:
                client = None
                time.sleep(0.05)

    while True:
        try:
            job = ask("TAKE", "AS", name, "WAIT", 5000, "FROM", "gzip", "digest")
            if job is None:
                continue
            number, token, selector, attempt, file = job[0], job[1], job[3], job[4], job[7]
            line = "B %d %s %d %f\n" % (number, token.decode(), attempt, time.monotonic())
            os.write(notes, line.encode())
            with open(file, "rb") as opened:
                content = opened.read()
            result = gzip.compress(content, 9) if selector == b"gzip" else (
                hashlib.sha256(content).hexdigest().encode())
            if ask("DONE", number, token, result) == b"OK":
                os.write(notes, ("K %d %s\n" % (number, token.decode())).encode())
        except Refused as error:
            print("%s: %s" % (name, error), file=sys.stderr)
            time.sleep(0.05)


class Demo:
    def __init__(self, binary, at):
        self.binary, self.at = binary, at
        self.workers, self.daemon, self.client = {}, None, None
        self.files, self.jobs, self.next_one = [], {}, 0
        with open(at + "/workerd.json5", "w") as file:
            file.write(CONFIGURATION % {"at": at})

    def until(self, what, condition):
        deadline = time.monotonic() + PATIENCE
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise SystemExit("worker-demo: in vain waited until %s; see %s" % (what, self.at))
            time.sleep(0.002)

    def start(self):
        self.daemon, self.client = start(self.binary, self.at)

    def hire(self, name):
        program = (["ruby", HERE + "/demo.rb"] if name.startswith("ruby")
                   else [sys.executable, "-B", __file__, "worker"])
        with open(self.at + "/errors", "ab") as errors:
            self.workers[name] = subprocess.Popen(
                program + [self.at + "/s", name, self.at + "/notes-" + name], stderr=errors)

    def submit(self, count):
        """Submits jobs for so many files, the next ones; each job is kept with its file."""
        for _ in range(count):
            file = self.files[self.next_one % len(self.files)]
            for selector in ("gzip", "digest"):
                thread = ("one", "two", "pool")[self.next_one % 3]
                job = self.client.call("PERFORM", thread, selector, file)
                self.jobs[job] = (thread, selector, file)
            self.next_one += 1

    def figure(self, name):
        return int(self.client.figures("all")[name])

    def held(self, name):
        """The job that a worker holds; nothing if it holds none."""
        for entry in self.client.call("WORKERS"):
            fields = dict(zip(entry[::2], entry[1::2]))
            if fields[b"name"] == name.encode() and fields[b"jobs"]:
                return fields[b"jobs"][0]
        return None

    def freeze(self, name):
        """Stops a worker in a moment in which it holds a job and has written down its beginning."""
        process = self.workers[name]

        def is_caught():
            process.send_signal(signal.SIGSTOP)
            job = self.held(name)
            # Words that it said before it stopped may still be on its way.
            time.sleep(0.02)
            has_begun = any(one[4] == name for one in self.runs(job))
            if has_begun and self.held(name) == job:
                return job
            process.send_signal(signal.SIGCONT)
            time.sleep(0.003)
            if self.figure("waiting_jobs") < 10:
                self.submit(10)
            return None

        return self.until("%s holds a job" % name, is_caught)

    def begun(self):
        """Each beginning that was written down: job, token, attempt, moment."""
        found = []
        for name in os.listdir(self.at):
            if name.startswith("notes-"):
                with open(self.at + "/" + name) as notes:
                    for line in notes:
                        words = line.split()
                        if words[0] == "B":
                            found.append((int(words[1]), words[2], int(words[3]), float(words[4]),
                                          name[len("notes-"):]))
        return sorted(found, key=lambda one: one[3])

    def runs(self, job):
        return [one for one in self.begun() if one[0] == job]


def play(demo):
    demo.start()
    for name in ("python-1", "python-2", "ruby-1"):
        demo.hire(name)
    demo.until("three workers wait", lambda: demo.figure("waiting_takes") == 3)
    print("workerd has the threads one and two and a pool; two workers in Python and one in Ruby")

    part = len(demo.files) // 3
    demo.submit(part)
    faults = []
    killed = demo.freeze("python-2")
    demo.workers["python-2"].kill()
    demo.workers["python-2"].wait()
    runs = demo.until("the job of the killed worker begins again",
                      lambda: len(demo.runs(killed)) > 1 and demo.runs(killed))
    print("python-2 was killed with job %d, and %s got it" % (killed, runs[1][4]))
    demo.hire("python-2")

    demo.submit(part)
    hung = demo.freeze("python-1")
    # It may be the job of the killed one.
    before, run_count = demo.figure("total_jobs_done"), len(demo.runs(hung))
    time.sleep(1)
    if demo.held("python-1") != hung or len(demo.runs(hung)) != run_count:
        faults.append("job %d of the stopped worker was given to another one" % hung)
    print("python-1 hung for a second with job %d: it was given to no other worker, and %d others "
          "were done" % (hung, demo.figure("total_jobs_done") - before))
    demo.workers["python-1"].send_signal(signal.SIGCONT)

    demo.submit(part)
    waiting = demo.figure("waiting_jobs")
    demo.daemon.terminate()
    demo.daemon.wait()
    demo.start()
    print("workerd was restarted when %d jobs waited" % waiting)
    demo.until("all is done", lambda: demo.figure("waiting_jobs") == 0
               and demo.figure("running_jobs") == 0)
    return faults


def check(demo, faults):
    """Compares all that the workers have written down with what was accepted."""
    wrong, jobs = 0, demo.jobs
    for job, (_, selector, file) in jobs.items():
        with open(file, "rb") as opened:
            content = opened.read()
        try:
            result = demo.client.call("RESULT", job)
            right = (gzip.decompress(result) == content if selector == "gzip"
                     else result.decode() == hashlib.sha256(content).hexdigest())
        except (Refused, OSError, AttributeError) as error:
            right, result = False, error
        if not right:
            wrong += 1
            faults.append("job %d, %s of %s: %r" % (job, selector, file, result))
    print("%d jobs on %d files done, %d lost or wrong" % (
        len(jobs) - wrong, min(demo.next_one, len(demo.files)), wrong))

    firsts, again, told = {}, 0, 0
    with open(demo.at + "/log") as log:
        vanished = re.findall(r"job (\d+)\b.*vanished", log.read())
    last = {}
    for job, token, attempt, moment, name in demo.begun():
        if job not in last:
            firsts.setdefault(jobs[job][0], []).append(job)
        elif last[job][0] != token:
            again += 1
            # By the number of the attempt, or by the log if the former one does not count.
            if attempt > last[job][1] or str(job) in vanished:
                told += 1
            else:
                faults.append("job %d ran again, and it was not told" % job)
        last[job] = (token, attempt)
    for thread in ("one", "two"):
        if firsts[thread] != sorted(firsts[thread]):
            faults.append("thread %s: out of order" % thread)
        print("thread %s began its %d jobs in the order of their numbers" % (
            thread, len(firsts[thread])))
    print("second runs: %d, of which told: %d" % (again, told))


def bundle(top, count, directory):
    """Makes files of some hundred kilobytes, each of several files below `top`."""
    found = sorted(os.path.join(place, name) for place, _, names in os.walk(top) for name in names)
    found = [file for file in found if os.path.isfile(file) and os.path.getsize(file) < 1 << 20]
    if not found:
        raise SystemExit("worker-demo: there is no file below " + top)
    os.mkdir(directory)
    files, next_one = [], 0
    for number in range(count):
        files.append("%s/%d" % (directory, number))
        with open(files[-1], "wb") as bundled:
            # At most as many as there are, so that empty files come to an end.
            for _ in found:
                if bundled.tell() > 300_000:
                    break
                with open(found[next_one % len(found)], "rb") as part:
                    bundled.write(part.read())
                next_one += 1
    return files


def main(binary, top, *options):
    at = tempfile.mkdtemp(prefix="workerd-demo-")
    demo = Demo(binary, at)
    try:
        count = 60 if "--quick" in options else 300
        demo.files = bundle(top, count, at + "/files")
        faults = play(demo)
        check(demo, faults)
    finally:
        for process in demo.workers.values():
            process.kill()
            process.wait()
        if demo.daemon:
            demo.daemon.terminate()
            demo.daemon.wait()
    if not faults:
        print("all is right")
    return verdict(faults, at)


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(*sys.argv[2:])
    else:
        sys.exit(main(*sys.argv[1:]))
