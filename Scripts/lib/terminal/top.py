#!/usr/bin/env python3
"""Runs `workerctl top` in a terminal of its own, as a person would, and looks at the screen.

    top.py WORKERCTL WORKERD

Exits 0 when the screen shows what it should, and when the terminal's modes are as before after each
way to leave it: q, Ctrl-C, Ctrl-Z, SIGTERM.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile

from terminal import Daemon, Terminal, fail


def row(screen, thread):
    """The line of a thread, in words."""
    return next((line.split() for line in screen if line.startswith(thread + " ")), [])


def main():
    workerctl, workerd = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        daemon = Daemon(workerd, directory)
        try:
            look(workerctl, daemon)
        finally:
            daemon.kill()


def start(workerctl, daemon, rows=16, columns=120):
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "WORKERD_SOCKET": daemon.socket}
    return Terminal([workerctl, "top"], environment, rows, columns)


def look(workerctl, daemon):
    def ctl(*words):
        return subprocess.run(
            [workerctl, "--socket", daemon.socket, *words], check=True, text=True,
            capture_output=True).stdout

    ctl("perform", "images", "sleep", "3600000")
    ctl("perform", "images", "echo", "behind")
    top = start(workerctl, daemon)
    top.wait_for("a running job", lambda screen: row(screen, "images")[1:4] == ["running", "1", "sleep"])
    top.wait_for("a waiting job", lambda screen: "1 waiting" in screen[0] and "oldest waits" in screen[0])
    top.wait_for("its lane", lambda screen: row(screen, "images")[-1].startswith("##"))
    if len(top.screen) != 16 or max(map(len, top.screen)) > 120:
        fail("the screen has another size than the terminal")

    # The daemon pushes: it is asked nothing while seconds pass.
    def commands():
        return int(re.search(r"total_commands_processed:(\d+)", ctl("info", "stats"))[1])

    before = commands()
    top.wait_for("more of its lane", lambda screen: "####" in row(screen, "images")[-1])
    if commands() - before > 4:
        fail(f"the daemon is asked again and again: {commands() - before} commands in 2 s")
    ctl("perform", "ledger", "fail", "no paper")
    top.wait_for("a failure", lambda screen: "x" in row(screen, "ledger")[-1])

    # The cursor, pause and resume.
    top.type("jj\x1b[Ak")
    top.type("jp")
    top.wait_for("the pause", lambda screen: row(screen, "mail/1")[1] == "paused")
    if "paused" not in ctl("thread", "mail/1"):
        fail("p does not pause")
    top.type("r")
    top.wait_for("the resume", lambda screen: row(screen, "mail/1")[1] == "idle")

    # The filter.
    top.type("/LED")
    top.wait_for("the filter", lambda screen: row(screen, "ledger") and not row(screen, "mail/1"))
    top.wait_for("what is typed", lambda screen: screen[-1] == "/LED_")
    top.type("\x7f\x7f\x7fima\r")
    top.wait_for("another filter", lambda screen: row(screen, "images") and not row(screen, "ledger"))
    top.type("\x1b")
    top.wait_for("no filter", lambda screen: row(screen, "mail/2"))

    # Another size.
    top.resize(6, 40)
    top.wait_for("a small screen", lambda screen: len(screen) == 6 and max(map(len, screen)) <= 40)
    top.resize(16, 120)
    top.wait_for("a large screen", lambda screen: len(screen) == 16)

    # A stop by the shell's key gives the terminal back, and SIGCONT takes it again.
    top.type("\x1a")
    if not os.WIFSTOPPED(os.waitpid(top.program.pid, os.WUNTRACED)[1]):
        fail("Ctrl-Z does not stop it")
    top.read()
    top.expect_as_before("Ctrl-Z")
    top.output = ""
    os.kill(top.program.pid, signal.SIGCONT)
    top.wait_for("the screen again", lambda screen: row(screen, "images"))

    # The daemon's end and its return.
    daemon.kill()
    top.wait_for("the loss", lambda screen: re.match(r"not connected for \d+ s: ", screen[1]))
    top.wait_for("its age", lambda screen: re.match(r"not connected for [1-9]\d* s: ", screen[1]))
    daemon.start()
    top.wait_for("the return", lambda screen: screen[1].startswith("live  4 threads"))
    top.wait_for("the new state", lambda screen: row(screen, "images")[1] == "idle")

    top.type("q")
    if top.wait_for_end() != 0:
        fail("q ends with another status than 0")
    top.expect_as_before("q")

    for name, end, status in [
        ("Ctrl-C", lambda top: top.type("\x03"), 130),
        ("SIGTERM", lambda top: top.program.terminate(), 143),
    ]:
        top = start(workerctl, daemon)
        top.wait_for("the screen", lambda screen: row(screen, "images"))
        end(top)
        found = top.wait_for_end()
        if found != status:
            fail(f"{name} ends with status {found}, not {status}")
        top.expect_as_before(name)


main()
