"""The configuration of Scripts/soak, and how it changes while workerd runs.

Needs no package, and openssl for the certificates.
"""

import os
import signal
import socket
import ssl
import subprocess
import threading
import time

from resp import Client, Refused

# All that is kept for a while is so little that it is full long before the second half.
TEXT = """
{ listen: { unix: "%(at)s/s", http: { unix: "%(at)s/h" }, tcp: "127.0.0.1:%(port)d",
    passwordFile: "%(at)s/password",
    tls: { certificate: "%(at)s/cert.pem", key: "%(at)s/key.pem" } },
  store: "%(at)s/jobs.sqlite", log: { level: "error" },
  threads: { one: {}, %(two)s pool: { count: %(count)d }, served: { count: %(served)d } },
  limits: { retainedResults: %(results)d, retainedFailures: 300, retainedFor: "10s",
    retainedOutput: "1MB", events: 5000 },
  schedules: { %(schedule)s },
  selectors: {
    work: { worker: true, lease: "500ms", lost: 1000 },
    count: { program: ["wc", "-c"], timeout: "5s" }, %(jam)s
    nap: { program: ["sleep", "0.05"], timeout: "%(nap)dms" } } }
"""
JAM = 'jam: { program: ["sh", "-c", "echo half; exit 3"] },'
BEAT = 'beat: { every: "%dms", thread: "one", selector: "echo", payload: "beat" },'
PASSWORD = "password-of-this-run"
# The settings that the clients count on, and how the run begins and ends.
WHOLE = {"two": "two: {},", "count": 3, "served": 2, "results": 500, "schedule": "",
         "jam": JAM, "nap": 20}


def write(path, text):
    """Puts a file into its place at once."""
    with open(path + ".new", "w") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
    os.rename(path + ".new", path)


class Certificates:
    """Two certificates, one of which is the door's."""

    def __init__(self, at):
        self.at, self.pairs, self.place = at, [], 0
        for number in range(2):
            names = [at + "/made-key", at + "/made-cert"]
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                 "-nodes", "-days", "90", "-subj", "/CN=soak-%d" % number,
                 "-keyout", names[0], "-out", names[1]], check=True, capture_output=True)
            self.pairs.append([open(name).read() for name in names])
        self.change()

    def change(self):
        self.place = 1 - self.place
        key, certificate = self.pairs[self.place]
        write(self.at + "/key.pem", key)
        write(self.at + "/cert.pem", certificate)


class Configuration:
    """The file, the certificates and the port of one run."""

    def __init__(self, at):
        self.at, self.certificates = at, Certificates(at)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        write(at + "/password", PASSWORD + "\n")
        self.put(WHOLE)

    def put(self, values):
        write(self.at + "/workerd.json5",
              TEXT % {"at": self.at, "port": self.port, **values})

    def put_any(self, chance):
        """Writes one of many valid configurations."""
        self.put({
            "two": chance.choice(["", WHOLE["two"], "two: { maxQueued: 5000 },"]),
            "count": chance.randrange(1, 5), "served": chance.randrange(1, 4),
            "results": chance.choice([400, 500]), "jam": chance.choice(["", JAM]),
            "schedule": chance.choice(["", BEAT % 100, BEAT % 200]),
            "nap": chance.choice([20, 40])})

    def put_faulty(self):
        write(self.at + "/workerd.json5", "{ threads: { one: { count: 0 } } }")


class Gate:
    """Has all clients hold still for a moment."""

    def __init__(self):
        self.condition, self.is_closed, self.inside = threading.Condition(), False, 0

    def __enter__(self):
        """A client begins a round."""
        with self.condition:
            self.condition.wait_for(lambda: not self.is_closed)
            self.inside += 1

    def __exit__(self, *fault):
        with self.condition:
            self.inside -= 1
            self.condition.notify_all()

    def close(self):
        """Waits until each client has ended its round; none begins another one."""
        with self.condition:
            self.is_closed = True
            self.condition.wait_for(lambda: self.inside == 0)

    def open(self):
        with self.condition:
            self.is_closed = False
            self.condition.notify_all()


def reload_for_ever(configuration, daemon, chance, gate, end, faults, tally):
    """Changes the configuration and has it read, by RELOAD or by SIGHUP, until the end."""
    client = Client(configuration.at + "/s")
    while not end.is_set():
        with gate:
            reload_once(client, configuration, daemon, chance, faults, tally)
        end.wait(chance.random() * 4)
    client.close()


def reload_once(client, configuration, daemon, chance, faults, tally):
    try:
        action = chance.randrange(10)
        if action == 0:
            configuration.put_faulty()
            try:
                client.call("RELOAD")
                faults.append("a faulty configuration was taken")
            except Refused:
                tally["refused"] += 1
            return
        if action < 4:
            configuration.certificates.change()
        configuration.put_any(chance)
        if action == 1:
            client.call("RELOAD", "DRY")
        elif action == 2:
            daemon.send_signal(signal.SIGHUP)
        else:
            client.call("RELOAD")
        tally["reloads"] += 1
    except (Refused, OSError) as error:
        faults.append("reload: %r" % error)


def ask_encrypted(configuration):
    """A client over TLS that gives its password and asks one thing."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", configuration.port), 60) as plain, \
            context.wrap_socket(plain) as connection:
        connection.sendall(b"AUTH %s\r\nTHREADS\r\n" % PASSWORD.encode())
        answer = b""
        while answer.count(b"\r\n") < 4:
            part = connection.recv(65536)
            if not part:
                raise OSError("TLS: the connection has ended behind %r" % answer[:60])
            answer += part


def read_stream(path, words, seconds, gate):
    """Reads a stream for a while, and leaves."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(0.2)
        connection.connect(path)
        connection.sendall(words)
        end, first = time.monotonic() + seconds, b""
        while time.monotonic() < end and not gate.is_closed:
            try:
                part = connection.recv(65536)
            except TimeoutError:
                continue
            if not part:
                raise OSError("a stream has ended behind %r" % first)
            first = first or part[:60]


def read_streams_for_ever(at, chance, gate, end, faults):
    """Reads the page's streams and EVENTS, as browsers and programs do, until the end."""
    request = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
    streams = [("/h", (request % "/api/live").encode()), ("/h", (request % "/api/events").encode()),
               ("/s", b"HELLO 3\r\nEVENTS\r\n")]
    while not end.is_set():
        door, words = chance.choice(streams)
        try:
            with gate:
                read_stream(at + door, words, chance.random() * 10, gate)
        except OSError as error:
            faults.append("stream: %r" % error)
