"""A client of workerd for scripts, and the start of a workerd of their own. Needs no package."""

import collections
import os
import re
import shutil
import socket
import subprocess
import time


class Refused(Exception):
    """An error reply."""


def command(*words):
    """The bytes of a command."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


class Client:
    """A connection to a path, or to an address of IPv4 and its port."""

    def __init__(self, place, patience=60):
        is_path = isinstance(place, str)
        self.socket = socket.socket(socket.AF_UNIX if is_path else socket.AF_INET)
        self.socket.settimeout(patience)
        self.socket.connect(place)
        self.file = self.socket.makefile("rb")

    def call(self, *words):
        self.socket.sendall(command(*words))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection has ended")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Refused(rest.decode())
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if rest == b"-1":
                return None
            text = self.file.read(int(rest) + 2)
            if len(text) < int(rest) + 2:
                raise ConnectionError("the connection has ended in the middle of an answer")
            return text[:-2]
        return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]

    def figures(self, section):
        """The figures of a section of INFO, as text."""
        lines = self.call("INFO", section).decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def close(self):
        self.file.close()
        self.socket.close()


def start(binary, at):
    """Starts workerd with the configuration in a directory, and waits until it answers at `s`."""
    with open(at + "/log", "ab") as log:
        daemon = subprocess.Popen(
            [binary, "--config", at + "/workerd.json5"], stdout=log, stderr=log)
    for _ in range(2000):
        try:
            client = Client(at + "/s")
            client.call("PING")
            return daemon, client
        except (OSError, Refused):
            time.sleep(0.01)
    daemon.kill()
    raise TimeoutError("workerd does not answer: see " + at)


def verdict(faults, at, seed=None):
    """Prints faults; without any, removes the directory of the run. Returns the exit status."""
    for fault in faults[:20]:
        print("FAULT: %s" % fault)
    if faults:
        print(("" if seed is None else "seed %d; " % seed) + "the files are in " + at)
        return 1
    shutil.rmtree(at)
    return 0


def sizes_of(process):
    """What a long run must keep flat: megabytes of memory, threads."""
    status = dict(line.split(":", 1) for line in open("/proc/%d/status" % process))
    return {
        "memory": int(status["VmRSS"].split()[0]) / 1024,
        "threads": int(status["Threads"]),
    }


def descriptor_kinds(process):
    """How many open descriptors there are of each kind."""
    at, kinds = "/proc/%d/fd" % process, collections.Counter()
    for name in os.listdir(at):
        try:
            kinds[re.sub(r":\[\d+\]$", "", os.readlink(os.path.join(at, name)))] += 1
        except OSError:
            continue  # It was closed meanwhile.
    return kinds
