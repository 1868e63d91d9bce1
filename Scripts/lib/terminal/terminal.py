"""A program in a pseudo-terminal, and a workerd for it to talk to."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 60
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A pseudo-terminal with a program in it."""

    def __init__(self, arguments, environment, rows, columns):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.output = ""
        self.program = subprocess.Popen(
            arguments, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=environment,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys.encode())

    def read(self):
        """Takes what the program writes, for a moment."""
        if select.select([self.master], [], [], 0.05)[0]:
            self.output += os.read(self.master, 65536).decode(errors="replace")

    @property
    def screen(self):
        """The lines of the last whole drawing."""
        end = self.output.rfind("\x1b[J")
        start = self.output.rfind("\x1b[H", 0, end + 1)
        if end < 0 or start < 0:
            return []
        return re.split(r"\r+\n", CONTROL.sub("", self.output[start:end]))

    def wait_for(self, what, condition):
        """Waits until the screen meets a condition."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.read()
            if self.screen and condition(self.screen):
                return
        fail(f"{what}: not within {PATIENCE} s; the screen:\n" + "\n".join(self.screen))

    def wait_for_end(self):
        """Waits for the program's end; its exit status, negative for a signal."""
        end = time.monotonic() + PATIENCE
        while self.program.poll() is None:
            self.read()
            if time.monotonic() > end:
                fail("the program does not end")
        while select.select([self.master], [], [], 0)[0]:
            self.read()
        return self.program.returncode

    def expect_as_before(self, when):
        """The shell's screen, the cursor and the modes are back."""
        if termios.tcgetattr(self.slave) != self.before:
            fail(f"{when}: the terminal has other modes than before")
        left = self.output.rfind("\x1b[?1049l")
        if left < self.output.rfind("\x1b[?1049h") or "\x1b[?25h" not in self.output[-40:]:
            fail(f"{when}: the screen or the cursor is not given back")


def fail(text):
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)
    sys.exit(1)


class Daemon:
    def __init__(self, workerd, directory):
        self.arguments = [workerd, "--config", f"{directory}/workerd.json5"]
        self.socket = f"{directory}/s"
        with open(f"{directory}/workerd.json5", "w") as file:
            file.write(
                f'{{ listen: {{ unix: "{self.socket}" }}, store: "memory", '
                "threads: { images: {}, mail: { count: 2 }, ledger: {} } }")
        self.start()

    def start(self):
        self.program = subprocess.Popen(self.arguments, stderr=subprocess.PIPE, text=True)
        for line in self.program.stderr:
            if f"listening on {self.socket}\n" in line:
                return
        fail("workerd does not start")

    def kill(self):
        self.program.kill()
        self.program.wait()
