#!/usr/bin/env python3
"""Types a command line into zsh, and looks at how zsh completes it.

    zsh.py WORKERCTL SOCKET
"""
import os
import pty
import re
import select
import subprocess
import sys
import time

PATIENCE = 60


def main():
    workerctl, socket = sys.argv[1:]
    master, slave = pty.openpty()
    environment = {
        "PATH": os.path.dirname(workerctl) + ":" + os.environ["PATH"], "WORKERD_SOCKET": socket,
        "TERM": "dumb", "PS1": "ready> ", "HOME": "/nonexistent",
    }
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, env=environment,
        start_new_session=True)
    output = ""

    def wait_for(pattern):
        nonlocal output
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                output += os.read(master, 65536).decode(errors="replace")
            if re.search(pattern, output):
                output = ""
                return
        print(f"zsh.py: no {pattern!r} in {output!r}", file=sys.stderr)
        shell.kill()
        sys.exit(1)

    def type(keys):
        os.write(master, keys.encode())

    wait_for("ready> ")
    type("autoload -Uz compinit; compinit -u -D; source <(workerctl completion zsh); echo loa''ded\n")
    wait_for("loaded\r?\n.*ready> ")
    type("workerctl shutd\t")
    wait_for("shutdown ")
    type("\x15workerctl pause ima\t")
    wait_for("images ")
    type("\x15workerctl pause mail/\t\t")
    wait_for("(?s)mail/2.*mail/1|mail/1.*mail/2")
    shell.kill()


main()
