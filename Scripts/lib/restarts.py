#!/usr/bin/env python3
"""Restarts workerd on sockets that outlive it, while clients connect without a pause.

    restarts.py WORKERD COUNT

Opens a Unix socket and a TCP port as systemd would, starts workerd with them (LISTEN_FDS), and
restarts it COUNT times: SIGTERM, then the next one. Meanwhile threads connect, send PING and wait
for PONG, again and again. Exits 0 when no connection was refused, each got its answer, and the
socket's file was never removed.
"""
import os
import signal
import socket
import sys
import tempfile
import threading
import time

PATIENCE = 60


class Client(threading.Thread):
    """Connects over and over, and counts how that ends."""

    def __init__(self, address, password):
        super().__init__(daemon=True)
        self.address = address
        self.greeting = b"AUTH secret\r\n" if password else b""
        self.expected = (b"+OK\r\n" if password else b"") + b"+PONG\r\n"
        self.is_over = False
        self.answered = self.refused = self.cut = 0

    def run(self):
        while not self.is_over:
            family = socket.AF_UNIX if isinstance(self.address, str) else socket.AF_INET
            with socket.socket(family) as connection:
                connection.settimeout(PATIENCE)
                try:
                    connection.connect(self.address)
                except OSError as error:
                    print(f"restarts.py: {self.address}: {error}", file=sys.stderr)
                    self.refused += 1
                    continue
                if self.ask(connection):
                    self.answered += 1
                else:
                    self.cut += 1

    def ask(self, connection):
        answer = b""
        try:
            connection.sendall(self.greeting + b"PING\r\n")
            while len(answer) < len(self.expected):
                part = connection.recv(4096)
                if not part:
                    return False
                answer += part
        except OSError:
            return False
        return answer == self.expected


def listen(address):
    listener = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    listener.bind(address)
    listener.listen(1024)
    return listener


def start(workerd, configuration, listeners):
    """Starts workerd as a service manager does; returns its process number when it is ready."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        for number, listener in enumerate(listeners):
            # First out of the way: a number may be another listener's.
            os.dup2(listener.fileno(), 50 + number)
        os.dup2(write, 2)
        for number in range(len(listeners)):
            os.dup2(50 + number, 3 + number)
        os.closerange(3 + len(listeners), 64)
        os.execve(workerd, [workerd, "--config", configuration], {
            "PATH": os.environ["PATH"], "LISTEN_PID": str(os.getpid()),
            "LISTEN_FDS": str(len(listeners)), "LISTEN_FDNAMES": "workerd.socket:tcp"})
    os.close(write)
    log = os.fdopen(read)
    for line in log:
        if "listening on" in line:
            threading.Thread(target=log.read, daemon=True).start()
            return process
        if "error" in line:
            print(line, end="", file=sys.stderr)
    sys.exit("restarts.py: workerd does not start")


def end(process):
    os.kill(process, signal.SIGTERM)
    status = os.waitpid(process, 0)[1]
    if status != 0:
        sys.exit(f"restarts.py: workerd ended with {status}")


def main():
    workerd, count = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/s"
        listeners = [listen(path), listen(("127.0.0.1", 0))]
        port = listeners[1].getsockname()[1]
        inode = os.stat(path).st_ino
        with open(f"{directory}/password", "w") as file:
            file.write("secret\n")
        os.chmod(f"{directory}/password", 0o600)
        configuration = f"{directory}/workerd.json5"
        with open(configuration, "w") as file:
            file.write(
                f'{{ listen: {{ unix: "{path}", tcp: "127.0.0.1:{port}", '
                f'passwordFile: "{directory}/password" }}, '
                f'store: "{directory}/jobs.sqlite", threads: {{ images: {{}} }} }}')
        process = start(workerd, configuration, listeners)
        clients = [
            Client(address, password)
            for address, password in [(path, False), (("127.0.0.1", port), True)]
            for _ in range(2)]
        for client in clients:
            client.start()
        for number in range(count):
            before = sum(client.answered for client in clients)
            deadline = time.monotonic() + PATIENCE
            while sum(client.answered for client in clients) < before + 20:
                if time.monotonic() > deadline:
                    sys.exit("restarts.py: nobody is served")
                time.sleep(0.005)
            end(process)
            if os.stat(path).st_ino != inode:
                sys.exit("restarts.py: workerd removed a socket that is not its own")
            process = start(workerd, configuration, listeners)
        for client in clients:
            client.is_over = True
        for client in clients:
            client.join()
        end(process)
        counts = [sum(getattr(client, name) for client in clients)
                  for name in ("answered", "refused", "cut")]
        print("{} restarts: {} connections answered, {} refused, {} cut off".format(count, *counts))
        if counts[1] or counts[2] or not os.path.exists(path):
            sys.exit(1)


main()
