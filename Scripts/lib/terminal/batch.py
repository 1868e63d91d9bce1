#!/usr/bin/env python3
"""Runs `workerctl perform --each` in a terminal of its own, and looks at its progress bar.

    batch.py WORKERCTL WORKERD
"""
import os
import subprocess
import sys
import tempfile
import time

from terminal import PATIENCE, Daemon, Terminal, fail


def main():
    workerctl, workerd = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        daemon = Daemon(workerd, directory)
        try:
            look(workerctl, daemon, directory)
        finally:
            daemon.kill()


def look(workerctl, daemon, directory):
    def ctl(*words):
        subprocess.run([workerctl, "--socket", daemon.socket, *words], check=True, stdout=subprocess.PIPE)

    files = [f"{directory}/{name}" for name in ("a", "b", "c")]
    for file in files:
        with open(file, "w") as opened:
            opened.write("content of " + file[-1])
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "WORKERD_SOCKET": daemon.socket}
    command = [workerctl, "perform", "images", "echo", "--wait", "--each", *files, f"{directory}/none"]

    # The bar is there while jobs wait, and gone behind the results.
    ctl("pause", "images")
    run = Terminal(command, environment, 24, 60)
    wait_for(run, "0/4  4 in flight")
    if max(len(line) for line in run.output.replace("\x1b[K", "").split("\r")) > 59:
        fail("the bar is wider than the terminal")
    ctl("resume", "images")
    if run.wait_for_end() != 66:
        fail("a file that is not there is no failure")
    shown = run.output[run.output.rfind("\r\x1b[K") :]
    for text in ("content of a", "content of b", "content of c", "none: can't read", "3 good, 1 failed"):
        if text not in run.output:
            fail(f"there is no {text!r} in {run.output!r}")
    if "in flight" in shown:
        fail(f"the bar is left behind: {shown!r}")

    # A terminal that can't move its cursor gets none.
    run = Terminal(command, environment | {"TERM": "dumb"}, 24, 60)
    run.wait_for_end()
    if "in flight" in run.output or "\x1b" in run.output:
        fail(f"a dumb terminal gets a bar: {run.output!r}")


def wait_for(run, text):
    end = time.monotonic() + PATIENCE
    while text not in run.output:
        run.read()
        if time.monotonic() > end:
            fail(f"no {text!r} in {run.output!r}")


main()
