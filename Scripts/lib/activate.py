#!/usr/bin/env python3
"""Starts a program with listening sockets, as systemd does for a socket unit.

    activate.py NAME=ADDRESS… -- PROGRAM ARGUMENT…

ADDRESS is a path or HOST:PORT. The program takes the place of this one (sd_listen_fds(3)).
"""
import os
import socket
import sys


def listen(address):
    if address.startswith("/"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
    else:
        host, port = address.rsplit(":", 1)
        listener = socket.socket(socket.AF_INET)
        listener.bind((host, int(port)))
    listener.listen()
    return listener


def main():
    end = sys.argv.index("--")
    names, addresses = zip(*(word.split("=", 1) for word in sys.argv[1:end]))
    listeners = [listen(address) for address in addresses]
    for number, listener in enumerate(listeners):
        # First out of the way: a number may be another listener's.
        os.dup2(listener.fileno(), 50 + number)
    for number in range(len(listeners)):
        os.dup2(50 + number, 3 + number)
    os.closerange(3 + len(listeners), 64)
    command = sys.argv[end + 1:]
    os.execve(command[0], command, {
        "PATH": os.environ["PATH"], "LISTEN_PID": str(os.getpid()),
        "LISTEN_FDS": str(len(listeners)), "LISTEN_FDNAMES": ":".join(names)})


main()
