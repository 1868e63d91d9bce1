"""Two workerd that share a database, and the page of one of them."""

import contextlib
import os
import subprocess

import looks
from scene import Scene

SERVER = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/postgresql-server"


@contextlib.contextmanager
def database(at):
    """A server of its own with an empty database; its address for workerd."""
    os.mkdir(at)
    # The server is another user's.
    os.chmod(os.path.dirname(at), 0o711)
    server = subprocess.Popen(
        [SERVER, at], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if server.stdout.readline() != "ready\n":
            raise SystemExit("PostgreSQL does not start")
        subprocess.run(["psql", "-q", "-h", f"{at}/socket", "-U", "workerd", "-d", "postgres",
                        "-c", "CREATE DATABASE jobs"], check=True)
        yield f"postgresql://workerd@/jobs?host={at}/socket"
    finally:
        server.stdin.close()
        server.wait()


@contextlib.contextmanager
def shared_database(binaries, at, is_encrypted, shares_threads=False):
    """Two workerd with one database, of which the second waits, unless they share the threads."""
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(database(f"{at}/postgresql"))

        def node(name, **more):
            os.mkdir(f"{at}/{name}")
            scene = Scene(binaries, f"{at}/{name}", is_encrypted=is_encrypted, database=address,
                          shares_threads=shares_threads, **more)
            stack.callback(scene.stop)
            return scene

        first = node("first")
        first.start()
        # A user has one key at all nodes.
        second = node("second", keys=first.keys)
        second.start(None if shares_threads else "clients are passed on to node first")
        yield first, second


def check_sharing(tour, first, second):
    """Nodes that share the threads: the page of one of them."""
    browser = tour.browser

    def threads_of(node):
        rows = browser.run("return [...document.querySelectorAll('.nodes tbody tr')]"
                           ".map(row => [...row.cells].map(cell => cell.innerText.trim()))")
        return {name for row in rows if row[0] == node
                for name in row[6].split(", ") if name != "–"}

    def lanes():
        """Whether each lane that can be seen says that its thread is at the other node."""
        rows = browser.run(
            "return [...document.querySelectorAll('.lane:not(.member)')]"
            ".map(lane => [lane.dataset.row, lane.innerText])")
        return {name: "at node second" in text for name, text in rows if text}

    browser.open(first.url)
    tour.sign_in("night")
    tour.go("workers")

    def is_shared():
        browser.click(".nodes .again button")
        owned = [len(threads_of("first")), len(threads_of("second"))]
        # One that moves is counted at neither.
        return sum(owned) == 7 and min(owned) == 3

    browser.until("threads of both nodes", is_shared)
    others = threads_of("second")
    tour.go("threads")
    browser.until("lanes that say which threads the other node has", lambda: any(
        lanes().values()) and all(at == (name in others) for name, at in lanes().items()))
    looks.check_contrast(tour, ["threads"])
    name = min(others)
    tour.go(f"threads/{name}")
    address = f"{second.url}#/threads/{name}"
    browser.until("a link to the other node's page", lambda: browser.run(
        "return [...document.querySelectorAll('.thread .head a')].map(link => link.href)")
        == [address])
    tour.check("and nothing to be done here", browser.run(
        "return document.querySelectorAll('.thread .head button').length") == 0)
    second.stop()
    browser.until("a thread that has come", lambda: browser.run(
        "return document.querySelectorAll('.thread .head button').length") == 1)


def check(tour, first, second):
    """Nodes: the page of the one that waits, and a takeover."""
    browser = tour.browser

    def rows():
        return [[cell.strip() for cell in row.split("\t")]
                for row in browser.texts(".nodes tbody tr")]

    browser.open(second.url)
    tour.sign_in("night")
    tour.go("workers")
    browser.until("two nodes", lambda: len(rows()) == 2)
    tour.check("which node serves, and which waits", [row[:3] for row in rows()]
               == [["first", "serves", "yes"], ["second", "waits", "–"]], rows())
    tour.check("and where others reach them",
               [row[5] for row in rows()] == [first.url[:-1], second.url[:-1]], rows())
    tour.shell(browser.text(".nodes .command code"))
    looks.check_narrow(tour, ["workers"])
    looks.check_contrast(tour, ["workers"])
    looks.check_names(tour, ["workers"])
    browser.requests()
    asked = browser.all_requests
    tour.check("only the node that waits is asked", all(
        url.startswith((second.url, "chrome", "data:", "about:")) for url in asked), asked)
    times = sum(url.endswith("/api/nodes") for url in asked)
    tour.check("for the nodes once, also when jobs move", times == 1, times)
    first.kill()
    browser.until_text("#freshness-text", "not connected for ")
    browser.until_text("#freshness-text", "live")
    browser.until("one node", lambda: len(rows()) == 1)
    tour.check("after a takeover the page goes on, and tells which one serves now",
               rows()[0][:3] == ["second", "serves", "yes"], rows())
    asked_at = "return document.querySelector('.nodes .again time').dateTime"
    moment = browser.run(asked_at)
    browser.click(".nodes .again button")
    browser.until("a new answer", lambda: browser.run(asked_at) != moment)
    tour.check("a button asks anew", rows()[0][1] == "serves", rows())
