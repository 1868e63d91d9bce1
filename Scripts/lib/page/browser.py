"""A headless Chromium, driven by chromedriver: W3C WebDriver over HTTP, without any package."""

import base64
import json
import os
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004"}


class Failed(Exception):
    """The page does not show what it should."""


class Browser:
    """One window of a browser of its own."""

    def __init__(self, directory, patience=20, accepts_any_certificate=False):
        self.patience = patience
        # Every address that was asked for since the start.
        self.all_requests = []
        # The addresses of requests that have not ended, by the browser's numbers.
        self.open_requests = {}
        self._start_driver()
        arguments = [
            "--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", "--force-color-profile=srgb", "--lang=en-US",
            f"--user-data-dir={directory}",
        ]
        # Chromium's sandbox refuses root.
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "acceptInsecureCerts": accepts_any_certificate,
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}})
        self.session = f"/session/{answer['sessionId']}"

    def _start_driver(self):
        """A port that is free may be taken in the next moment: then another one is tried."""
        for _ in range(5):
            self.driver = subprocess.Popen(
                ["chromedriver", "--port=0", "--log-level=SEVERE"], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True)
            for line in self.driver.stdout:
                if "successfully on port " in line:
                    port = line.rsplit("on port ", 1)[1].strip(" .\n")
                    self.root = f"http://127.0.0.1:{port}"
                    return
            self.driver.wait()
        raise Failed("chromedriver does not start")

    def _send(self, method, path, body=None):
        request = urllib.request.Request(
            self.root + path, method=method, data=json.dumps(body or {}).encode()
            if method == "POST" else None, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise Failed(f"{path}: {value['error']}: {value['message'].splitlines()[0]}") from None

    def post(self, path, body=None):
        return self._send("POST", self.session + path, body)

    def get(self, path):
        return self._send("GET", self.session + path)

    def devtools(self, command, **parameters):
        """A command of Chromium's own, such as the emulation of a dark screen."""
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def close(self):
        try:
            self._send("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()

    # The actions of a person.

    def open(self, url):
        self._leave()
        self.post("/url", {"url": url})

    def reload(self):
        self._leave()
        self.post("/refresh")

    def _leave(self):
        """Of requests that end with their page, the browser says no more."""
        self.requests()
        self.open_requests.clear()

    def address(self):
        return self.get("/url")

    def find(self, css):
        return self.post("/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        self.post(f"/element/{self.find(css)}/click")

    def click_at(self, css, share):
        """Clicks an element near its left (0) or right (1) end."""
        x, y = self.run("""
            const box = document.querySelector(arguments[0]).getBoundingClientRect();
            return [box.left + 3 + arguments[1] * (box.width - 6), box.top + box.height / 2]""",
                        css, share)
        self.post("/actions", {"actions": [{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
                {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)},
                {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]}]})

    def write(self, css, text):
        self.post(f"/element/{self.find(css)}/value", {"text": text})

    def press(self, *keys):
        """Presses keys, wherever the focus is."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=False)

    def prefer(self, **features):
        """Preferences such as `prefers_color_scheme="dark"`."""
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    # The things that a person sees.

    def run(self, script, *arguments):
        """The value of a script's `return`."""
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The value of the `return` of a script that may wait, as for a module of the page."""
        answer = self.post("/execute/async", {"args": list(arguments), "script": """
            const [done, ...rest] = [...arguments].reverse();
            (async (...args) => { %s })(...rest.reverse())
              .then((value) => done({ value }), (error) => done({ error: String(error) }))
            """ % script})
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["value"]

    def text(self, css):
        """The visible text of the first element; None if there is none."""
        return self.run(
            "const e = document.querySelector(arguments[0]); return e ? e.innerText : null", css)

    def texts(self, css):
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", css)

    def count(self, css):
        return self.run("return document.querySelectorAll(arguments[0]).length", css)

    def is_seen(self, css):
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].some(e => e.checkVisibility())", css)

    def picture(self, file):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.get("/screenshot")))

    def complaints(self):
        """What the browser has written to its console since the last call."""
        entries = self.post("/se/log", {"type": "browser"})
        return [f"{entry['level']}: {entry['message']}" for entry in entries]

    def requests(self):
        """The addresses that were asked for since the last call."""
        addresses = []
        for entry in self.post("/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            method, parameters = message["method"], message["params"]
            if method == "Network.requestWillBeSent":
                address = parameters["request"]["url"]
                addresses.append(address)
                self.open_requests[parameters["requestId"]] = address
            elif method in ("Network.loadingFinished", "Network.loadingFailed"):
                self.open_requests.pop(parameters["requestId"], None)
        self.all_requests += addresses
        return addresses

    def open_count(self, path):
        """How many requests of a path have not ended."""
        self.requests()
        return sum(address.endswith(path) for address in self.open_requests.values())

    def until(self, what, condition):
        """Waits until a condition holds; its value. Fails with the last value or fault."""
        end = time.monotonic() + self.patience
        last = None
        while time.monotonic() < end:
            try:
                last = condition()
                if last:
                    return last
            except Failed as fault:
                last = fault
            time.sleep(0.05)
        raise Failed(f"{what}: not within {self.patience} s (last: {last!r})")

    def until_text(self, css, part):
        """Waits until an element's text has a part."""
        try:
            return self.until(f"'{part}' in {css}", lambda: part in (self.text(css) or ""))
        except Failed as fault:
            raise Failed(f"{fault}; it says: {self.text(css)!r}") from None
