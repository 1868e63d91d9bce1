"""A workerd with jobs of every kind, for the page to show.

It is the test program that has a handler which hangs as long as it is told to; all else is that of
workerd.
"""

import hashlib
import http.client
import json
import os
import random
import re
import secrets
import signal
import socket
import subprocess
import time

CONFIGURATION = """
{
    listen: {
        unix: "%(at)s/socket", %(door)s
        http: { unix: "%(at)s/http", tcp: "127.0.0.1:%(port)d", %(tls)s },
    },
    users: "%(at)s/users",
    store: "%(store)s", stateDirectory: "%(at)s", node: { name: "%(node)s", %(sharing)s },
    threads: {
        images: {}, mail: { count: 4 }, ledger: {}, reports: {}, exports: { count: 2 }, scans: {},
        imports: { stuckAfter: "100ms" }, %(more)s
    },
    selectors: {
        resize: { timeout: "none", program: ["sh", "-c",
            "echo 20%% page 1 >&3; sleep 0.2; echo 40%% page 2 >&3; exec sleep 600"] },
        shout: { program: ["tr", "a-z", "A-Z"] },
        jams: { program: ["sh", "-c", "echo half a page; echo paper jam in tray 2 >&2; exit 1"] },
        flaky: { retries: 2, program: ["sh", "-c", "echo try $WORKERD_ATTEMPT >&2; exit 75"] },
        slow: { program: ["sleep", "600"], timeout: "200ms" },
        ocr: { worker: true },
    },
    schedules: {
        nightly: { cron: "30 3 * * *", zone: "Europe/Berlin", thread: "reports", selector: "echo",
            payload: "close the books" },
        beat: { every: "2s", thread: "exports", selector: "echo", payload: "tick" },
    },
}
"""

USERS = """
{
    users: {
        night: { roles: ["observe", "submit", "operate"], payloads: true, secrets: ["%(night)s"] },
        guest: { roles: ["observe"], secrets: ["%(guest)s"] },
        clerk: { roles: ["observe", "operate"], threads: ["exports", "mail/1"],
            secrets: ["%(clerk)s"] },
    },
}
"""

# With a certificate that is its own authority, as the browser is told to accept.
TLS = 'tls: { certificate: "%(at)s/cert.pem", key: "%(at)s/key.pem" }'

HOSTILE = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
UNICODE = "Grüße aus \u202eברלין, Москва und Ζυρίχη"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Scene:
    """A daemon in a directory of its own."""

    def __init__(self, binaries, at, threads=0, is_encrypted=False, database=None, keys=None,
                 shares_threads=False):
        self.binaries, self.at, self.port = binaries, at, free_port()
        self.scheme = "https" if is_encrypted else "http"
        if is_encrypted:
            self.make_certificate()
        tls = TLS % {"at": at} if is_encrypted else ""
        # A key for each user.
        self.keys = keys or {
            user: secrets.token_hex(32) for user in ("night", "guest", "clerk")}
        self.daemon = None
        more = " ".join(f"unit{number:04}: {{}}," for number in range(threads))
        self.write("workerd.json5", CONFIGURATION % {
            "at": at, "port": self.port, "tls": tls, "more": more,
            "door": f'tcp: "127.0.0.1:{free_port()}",' if shares_threads else "",
            "sharing": "sharesThreads: true" if shares_threads else "",
            "store": database or f"{at}/jobs.sqlite", "node": os.path.basename(at)})
        self.write("users", USERS % {
            user: hashlib.sha256(key.encode()).hexdigest() for user, key in self.keys.items()})

    def make_certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "90", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-keyout", f"{self.at}/key.pem", "-out", f"{self.at}/cert.pem"],
            check=True, capture_output=True)
        os.chmod(f"{self.at}/key.pem", 0o600)

    def write(self, name, text):
        with open(os.open(f"{self.at}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") \
                as file:
            file.write(text)

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}/"

    def start(self, sign=None):
        """Starts it, and waits until it is ready, or until its log has a sign."""
        with open(f"{self.at}/log", "ab") as log:
            self.daemon = subprocess.Popen(
                [f"{self.binaries}/ProgramObedient", "--config", f"{self.at}/workerd.json5"],
                stdout=log, stderr=log)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                if sign in self.log() if sign else self.ask("GET", "/readyz") == "ok\n":
                    return
            except OSError:
                pass
            time.sleep(0.05)
            if self.daemon.poll() is not None:
                break
        raise SystemExit("workerd does not start: " + self.log())

    def log(self):
        with open(f"{self.at}/log") as log:
            return log.read()

    def link(self):
        """An address of the page with a ticket, as `workerctl page` asks for it."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"{self.at}/socket")
            connection.sendall(b"AUTH night %s\r\nPAGE\r\n" % self.keys["night"].encode())
            answer = b""
            while b"seconds" not in answer:
                part = connection.recv(4096)
                if not part:
                    break
                answer += part
        found = re.search(rb"https?://\S+#ticket=\S+", answer)
        if not found or not found[0].startswith(self.url.encode()):
            raise SystemExit(f"PAGE: {answer!r}")
        return found[0].decode()

    def stop(self):
        """Ends it as a service manager does."""
        if self.daemon:
            self.daemon.send_signal(signal.SIGTERM)
            # Running jobs get no time: a second signal ends them.
            time.sleep(0.1)
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait()
            self.daemon = None

    def kill(self):
        """Ends it as a crash does."""
        self.daemon.kill()
        self.daemon.wait()
        self.daemon = None

    def ask(self, method, path, body=None):
        """The answer to a request at the socket: JSON, or the text of a probe."""
        connection = UnixConnection(f"{self.at}/http")
        fields = {"Content-Type": "application/json"} if method == "POST" else {}
        connection.request(method, path, json.dumps(body) if body is not None else None, fields)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return json.loads(text) if "json" in response.getheader("Content-Type", "") else text

    def submit(self, thread, selector, payload="", **options):
        """Submits a job; its number."""
        answer = self.ask("POST", "/api/jobs", {
            "thread": thread, "selector": selector, "payload": payload, **options})
        if "id" not in answer:
            raise SystemExit(f"PERFORM {thread} {selector}: {answer}")
        return answer["id"]

    def job(self, number):
        return self.ask("GET", f"/api/jobs/{number}")

    def until(self, number, *states):
        """Waits until a job is in one of the states: others may be before it."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            state = self.job(number)["state"]
            if state in states:
                return
            time.sleep(0.02)
        raise SystemExit(f"job {number} is {state}, not {' or '.join(states)}")

    def fill(self):
        """Runs jobs of every kind; their numbers by what they show."""
        jobs = {}
        jobs["done"] = [self.submit("exports", "shout", f"line {i}") for i in range(30)][0]
        jobs["hostile"] = self.submit("mail", "fail", HOSTILE, label="<b>bold</b>", key="alice")
        jobs["unicode"] = self.submit("mail", "fail", UNICODE)
        for _ in range(12):
            self.submit("mail", "fail", "550 no such user")
        jobs["jam"] = [self.submit("exports", "jams") for _ in range(5)][-1]
        jobs["late"] = self.submit("scans", "slow")
        jobs["flaky"] = self.submit("exports", "flaky", "3 attempts")
        self.until(jobs["done"], "done")
        self.until(jobs["late"], "failed")
        jobs["running"] = self.submit("images", "resize", "a picture", label="cat.png")
        jobs["behind"] = [self.submit("images", "shout", f"behind {i}") for i in range(5)][-1]
        jobs["holds"] = self.submit("ledger", "fail", "x", retry=50, **{"retry-mode": "block"})
        jobs["held"] = [self.submit("ledger", "echo", f"entry {i}") for i in range(4)][-1]
        jobs["unserved"] = [self.submit("scans", "ocr", f"page {i}") for i in range(3)][0]
        os.mkfifo(f"{self.at}/fifo")
        jobs["stuck"] = self.submit("imports", "obey", f"{self.at}/fifo", timeout=100)
        self.fifo = os.open(f"{self.at}/fifo", os.O_WRONLY)
        self.ask("POST", "/api/threads/reports/pause", {})
        jobs["paused"] = [
            self.submit("reports", "echo", f"report {i}", key=f"client-{i % 3}") for i in range(120)
        ][0]
        jobs["delayed"] = self.submit("mail", "echo", "later", delay=3_600_000, label="reminder")
        jobs["bytes"] = self.submit(
            "mail", "echo", {"base64": "AAEC/wD+PHNjcmlwdD4="}, delay=3_600_000)
        jobs["large"] = self.submit("mail", "echo", "long line\n" * 20_000, delay=3_600_000)
        jobs["cancelled"] = self.submit("mail", "echo", "no", delay=3_600_000)
        self.ask("POST", f"/api/jobs/{jobs['cancelled']}/cancel", {})
        jobs["expired"] = self.submit("reports", "echo", "too late", expire=1)
        self.until(jobs["running"], "running")
        self.until(jobs["hostile"], "failed")
        self.until(jobs["stuck"], "stuck")
        return jobs

    def work(self, minutes, threads):
        """Lets some threads work for a while, so that their lanes have something to show."""
        dice = random.Random(7)
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            thread = dice.choices(threads, [6 if name == "exports" else 2 if name == "mail" else 1
                                            for name in threads])[0]
            choice = dice.random()
            if choice < 0.04:
                self.submit(thread, "fail", "550 no such user")
            elif choice < 0.07:
                self.submit(thread, "slow")
            elif choice < 0.09:
                late = self.submit(thread, "echo", delay=3_600_000)
                self.ask("POST", f"/api/jobs/{late}/cancel", {})
            elif thread == "exports":
                for i in range(dice.randint(1, 12)):
                    self.submit(thread, "shout", f"line {i}")
            else:
                longest = 25_000 if thread in ("images", "ledger") else 4_000
                self.submit(thread, "sleep", str(dice.randint(50, longest)))
            time.sleep(dice.uniform(0.2, 2.0))

    def until_idle(self):
        """Waits until the threads have done all jobs."""
        end = time.monotonic() + 900
        while time.monotonic() < end:
            threads = self.ask("GET", "/api/threads")["threads"]
            if all(thread["state"] == "idle" and thread["waiting"] == 0 for thread in threads):
                return
            time.sleep(0.5)
        raise SystemExit(f"the threads are not idle: {threads}")

    def release(self):
        """Ends the job that hangs."""
        os.write(self.fifo, b"return at last\n")
