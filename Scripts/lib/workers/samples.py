"""Runs the workers that Documents/Workers.md shows, through all that a connection can do to them.

    samples.py WORKERD DOCUMENT PYTHON NAME…

Used by Scripts/clients. A sample is the block of code below its heading, with another socket and a
shorter WAIT. It speaks through a relay, which cuts its connection at a chosen moment.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from resp import Refused, start

CONFIGURATION = """
{ listen: { unix: "%(at)s/s" }, store: "%(at)s/jobs.sqlite",
  threads: { images: {}, other: {} },
  selectors: { resize: { worker: true, lease: "60s" } } }
"""

# Heading, language of the block, and the program that a file is given to.
SAMPLES = {
    "python": ("Python", "python", ["%(python)s"]),
    "asyncio": ("Python with asyncio", "python", ["%(python)s"]),
    "node": ("Node", "js", ["node"]),
    "ruby": ("Ruby", "ruby", ["ruby"]),
    "perl": ("Perl", "perl", ["perl"]),
    "php": ("PHP", "php", ["php"]),
    "shell": ("A shell", "sh", ["bash"]),
}
PICTURE = bytes(range(256)) + b"\r\n\n"
LIMIT = 30


class Fault(Exception):
    """What a sample did wrong."""


def sample(document, name):
    """The text of a sample, as a reader copies it."""
    heading, language, _ = SAMPLES[name]
    chapter = ("\n" + document).partition("\n## %s\n" % heading)[2].partition("\n## ")[0]
    text = chapter.partition("\n```%s\n" % language)[2].partition("\n```\n")[0]
    if not text:
        raise Fault("the document has no block of %s below %s" % (language, heading))
    return text + "\n"


class Relay:
    """Carries bytes between a worker and workerd, and cuts connections."""

    def __init__(self, at, to):
        self.to = to
        self.lock = threading.Lock()
        self.pairs = []
        # Called with each chunk that workerd sends; when it returns true, the connection is cut
        # and the worker does not get the chunk.
        self.cuts = None
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(at)
        self.door.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            worker, _ = self.door.accept()
            daemon = socket.socket(socket.AF_UNIX)
            try:
                daemon.connect(self.to)
            except OSError:
                worker.close()
                continue
            with self.lock:
                self.pairs.append((worker, daemon))
            for ends in ((worker, daemon, False), (daemon, worker, True)):
                threading.Thread(target=self.carry, args=ends, daemon=True).start()

    def carry(self, source, target, is_reply):
        try:
            while True:
                chunk = source.recv(1 << 20)
                with self.lock:
                    is_cut = is_reply and chunk and self.cuts is not None and self.cuts(chunk)
                    if is_cut:
                        self.cuts = None
                if not chunk or is_cut:
                    break
                target.sendall(chunk)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """Ends all connections."""
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def cut_at(self, condition):
        with self.lock:
            self.cuts = condition

    @property
    def has_cut(self):
        with self.lock:
            return self.cuts is None


class Trial:
    """One sample with a workerd of its own."""

    def __init__(self, binary, name, text, command, environment):
        self.binary, self.name = binary, name
        self.at = tempfile.mkdtemp(prefix="workerd-sample-")
        self.client = self.daemon = None
        with open(self.at + "/workerd.json5", "w") as file:
            file.write(CONFIGURATION % {"at": self.at})
        self.start()
        self.relay = Relay(self.at + "/relay", self.at + "/s")
        for old, new in (("/run/workerd/workerd.sock", self.at + "/relay"), ("30000", "400")):
            if old not in text:
                raise Fault("it does not mention " + old)
            text = text.replace(old, new)
        with open(self.at + "/sample", "w") as file:
            file.write(text)
        with open(self.at + "/output", "wb") as output:
            self.worker = subprocess.Popen(
                command + [self.at + "/sample"], stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, env=environment, start_new_session=True)

    def start(self):
        self.daemon, self.client = start(self.binary, self.at)

    def end_daemon(self, how):
        self.daemon.send_signal(how)
        self.daemon.wait(LIMIT)

    def until(self, what, condition):
        deadline = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > deadline:
                raise Fault("in vain waited until " + what)
            time.sleep(0.02)

    def call(self, *words):
        try:
            return self.client.call(*words)
        except Refused as error:
            return str(error)

    def figure(self, name):
        return int(self.client.figures("all")[name])

    def submit(self, payload, *options):
        return self.client.call("PERFORM", "images", "resize", *options, payload)

    def expect(self, step, job, wanted):
        """Waits for the job's result."""
        result = self.call("RESULT", job, "WAIT", LIMIT * 1000)
        said = isinstance(result, str) and isinstance(wanted, str) and wanted in result
        if result != wanted and not said:
            raise Fault("%s: job %d ended with %r" % (step, job, result))

    def play(self):
        half = PICTURE[:len(PICTURE) // 2]
        self.expect("a job", self.submit(PICTURE), half)
        self.expect("a failure", self.submit(""), "an empty picture")
        self.expect("a job after it", self.submit(PICTURE), half)

        self.wait_for_nulls()

        self.relay.cut()
        self.expect("a job after its connection was cut", self.submit(PICTURE), half)

        # The reply to TAKE is lost: under its name it gets the job again.
        delivered = self.figure("total_deliveries")
        self.relay.cut_at(lambda chunk: b"resize\r\n" in chunk)
        self.expect("a job whose delivery was lost", self.submit(PICTURE), half)
        self.check("the delivery was cut", self.relay.has_cut)
        self.check("it got the same delivery", self.figure("total_deliveries") == delivered + 1)

        # The reply to DONE is lost: it is said again, or the next job is taken.
        self.relay.cut_at(lambda chunk: chunk.startswith(b"+OK"))
        self.expect("a job whose OK was lost", self.submit(PICTURE), half)
        self.until("the OK was cut", lambda: self.relay.has_cut)
        self.expect("a job after it", self.submit(PICTURE), half)
        self.check("no worker vanished", self.figure("total_vanished_workers") == 0)

        self.end_daemon(signal.SIGTERM)
        self.start()
        self.expect("a job after a restart", self.submit(PICTURE), half)
        self.end_daemon(signal.SIGKILL)
        self.start()
        self.expect("a job after a crash", self.submit(PICTURE), half)
        if self.name == "asyncio":
            job = self.submit(b"x" * 600_000)
            self.until("it runs", lambda: self.figure("jobs_held_by_workers") == 1)
            self.check("it is asked to stop", self.call("CANCEL", job) == b"requested")
            self.expect("a job that is to stop", job, "CANCELLED")
            self.expect("a job after it", self.submit(PICTURE), half)
        self.check("it lives", self.worker.poll() is None)

    def wait_for_nulls(self):
        """Waits until workerd has answered two TAKEs with null."""
        nulls = []
        self.relay.cut_at(lambda chunk: nulls.append(chunk) if chunk[:3] in NULLS else None)
        self.until("it takes again after null", lambda: len(nulls) >= 2)
        self.relay.cut_at(None)
        self.expect("a job after null", self.submit(PICTURE), PICTURE[:len(PICTURE) // 2])

    def check(self, what, is_so):
        if not is_so:
            raise Fault("it is not so that " + what)

    def close(self):
        if getattr(self, "worker", None):
            os.killpg(self.worker.pid, signal.SIGKILL)
            self.worker.wait()
        if self.daemon and self.daemon.poll() is None:
            self.end_daemon(signal.SIGTERM)

    @property
    def output(self):
        with open(self.at + "/output", errors="replace") as file:
            return file.read()[-1000:]


NULLS = (b"$-1", b"*-1", b"_\r\n")


def run(binary, document, python, name, faults):
    trial = None
    try:
        started = time.monotonic()
        command = [word % {"python": python} for word in SAMPLES[name][2]]
        trial = Trial(binary, name, sample(document, name), command, dict(os.environ))
        trial.play()
        print("sample of %s: passed in %.1f s" % (
            SAMPLES[name][0], time.monotonic() - started), flush=True)
    except (Fault, OSError, Refused, subprocess.TimeoutExpired) as error:
        said = trial.output if trial and os.path.exists(trial.at + "/output") else ""
        faults.append(name)
        print("sample of %s: FAILED: %s; it printed: %s" % (SAMPLES[name][0], error, said),
              flush=True)
    finally:
        if trial:
            trial.close()
            shutil.rmtree(trial.at, ignore_errors=True)


def main(binary, document, python, *names):
    with open(document) as file:
        text = file.read()
    faults = []
    threads = [
        threading.Thread(target=run, args=(binary, text, python, name, faults)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
