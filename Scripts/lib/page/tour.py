"""Goes through the page as a person does, and checks what it shows.

    tour.py BINARIES [--tls] [--quick | --pictures DIRECTORY]

BINARIES is the directory of a build. Used by Scripts/page.
"""

import os
import subprocess
import sys
import tempfile
import time

import looks
import nodes
import rules
from browser import Browser, Failed
from scene import HOSTILE, Scene, UNICODE


class Tour:
    def __init__(self, browser, scene, jobs):
        self.browser, self.scene, self.jobs = browser, scene, jobs

    def check(self, what, holds, found=None):
        if not holds:
            raise Failed(f"{what}: {found!r}" if found is not None else what)
        print(f"    {what}")

    def go(self, place):
        """Opens a view by its address."""
        self.browser.run("location.hash = arguments[0]", f"#/{place}")

    def sign_in(self, user):
        """With a user's key, by the form."""
        self.browser.until("the form for a key", lambda: self.browser.is_seen("#key"))
        self.browser.write("#key", self.scene.keys[user])
        self.browser.press("Enter")
        self.browser.until_text("#freshness-text", "live")

    def enter(self):
        """By a link with a ticket."""
        self.browser.open(self.scene.link())
        self.browser.until_text("#freshness-text", "live")

    def sign_in_again(self):
        """Loads the page anew; the tab keeps its key."""
        self.browser.reload()
        self.browser.until_text("#freshness-text", "live")

    def shell(self, line):
        """What a line that the page shows prints, here with the socket of this workerd."""
        socket = f"{self.scene.at}/socket"
        here = line.replace("/run/workerd/workerd.sock", socket)
        run = subprocess.run(
            ["bash", "-c", f'workerctl() {{ "{self.scene.binaries}/workerctl" --socket "{socket}" '
             f'"$@"; }}; {here}'], capture_output=True, text=True, check=False)
        self.check(f"the same as a line: {line}", run.returncode == 0, run.stderr)
        return run.stdout

    def answer_dialog(self, part):
        """Presses the dialog's main button, checks its answer, and closes it."""
        self.browser.until("the dialog", lambda: self.browser.is_seen("dialog button.primary"))
        command = self.browser.text("dialog .command code")
        self.browser.click("dialog button.primary")
        self.browser.until_text("dialog .answer", part)
        self.browser.press("Escape")
        self.browser.until("the end of the dialog", lambda: not self.browser.is_seen("dialog"))
        return command


def verdict(tour):
    """1: the verdict in words."""
    browser = tour.browser
    browser.until_text("#verdict-line", "things need you:")
    things = browser.texts("#verdict-list li")
    for part in ("imports stuck for ", "reports is paused, and 120 jobs wait",
                 "scans: no worker for ocr, and 3 jobs wait", "failed in 15 min"):
        tour.check(f"it says: {part}", any(part in thing for thing in things), things)
    tour.check("the worst comes first", things[0].startswith("imports stuck"), things)
    tour.check("it is the only part that screen readers are told of",
               browser.run("return [...document.querySelectorAll('[aria-live], [role=status], "
                           "[role=alert]')].map(e => e.id)") == ["verdict-spoken"])
    spoken = browser.run("return document.getElementById('verdict-spoken').textContent")
    tour.check("what is spoken does not change by the second",
               "imports stuck" in spoken and "stuck for" not in spoken, spoken)


def lanes(tour):
    """3: threads as lanes."""
    browser = tour.browser
    tour.go("threads")
    browser.until("lanes", lambda: browser.count(".lane .drawing") >= 7)
    names = browser.texts(".lane .name")
    tour.check("troubled threads come first", names[0] == "imports", names)
    tour.check("all well ones come last", names.index("ledger") > names.index("scans"), names)
    shapes = browser.run("""
        const lane = (name) => document.querySelector(`[data-row="${name}"]`);
        const has = (name, kind) => lane(name).querySelector(`.${kind}`).getAttribute("d") !== "";
        const track = (name) => getComputedStyle(lane(name).querySelector(".track"));
        return {
          done: [...document.querySelectorAll(".lane .done")].some(p => p.getAttribute("d") !== ""),
          failed: [...document.querySelectorAll(".lane .failed")].some(p => p.getAttribute("d") !== ""),
          late: [...document.querySelectorAll(".lane .timed-out")].some(p => p.getAttribute("d") !== ""),
          cancelled: [...document.querySelectorAll(".lane .cancelled")]
            .some(p => p.getAttribute("d") !== ""),
          running: has("images", "running"),
          paused: track("reports").backgroundImage.includes("repeating-linear-gradient"),
          held: track("ledger").outlineStyle,
          hollow: getComputedStyle(lane("ledger").querySelector(".done")).fill,
        }""")
    for kind in ("done", "failed", "late", "cancelled", "running"):
        tour.check(f"{kind} jobs are drawn in their shape", shapes[kind])
    tour.check("a paused thread is hatched", shapes["paused"])
    tour.check("one that is held up by BLOCK is hollow",
               shapes["held"] == "dashed" and shapes["hollow"] == "none", shapes)
    words = browser.text('[data-row="images"] .what')
    tour.check("a lane tells the running job and the waiting ones",
               "resize" in words and "5 waiting · oldest" in words and "page 2" in words, words)
    tour.check("and what holds it up", f"held up by job {tour.jobs['holds']}"
               in browser.text('[data-row="ledger"] .what'))
    browser.click(".legend summary")
    tour.check("a legend tells the shapes", len(browser.texts(".legend li")) == 9)
    browser.click(".legend summary")
    browser.click_at('[data-row="images"] .track', 1.0)
    browser.until_text("main h2", f"Job {tour.jobs['running']}")
    tour.check("a click on a lane opens its job", True)


def failures(tour):
    """4: failures in groups."""
    browser, jobs = tour.browser, tour.jobs
    tour.go("failures")
    browser.until("groups", lambda: browser.count("tbody tr") >= 5)
    rows = browser.texts("tbody tr")
    jam = next((row for row in rows if "550 no such user" in row), None)
    tour.check("twelve failures of one reason are a group", jam and "\t12\t" in jam, rows)
    tour.check("a hostile reason is text", any(HOSTILE[:40] in row for row in rows), rows)
    tour.check("a character that turns text around is written out",
               any("\\u202e" in row for row in rows))
    tour.check("the page's title is its own", "owned" not in browser.get("/title"))
    tour.check("and no element came of it",
               browser.count("main script, main img") == 0)
    index = next(i for i, row in enumerate(rows) if "paper jam" in row)
    browser.click(f"tbody tr:nth-child({index + 1}) button.grave")
    browser.until_text("dialog", "5 jobs match")
    command = tour.answer_dialog("5 jobs dropped.")
    tour.check(f"a group is dropped, after a count: {command}", "--selector jams" in command)
    browser.until("one group less", lambda: not any(
        "paper jam" in row for row in browser.texts("tbody tr")))
    row = next(i for i, text in enumerate(browser.texts("tbody tr")) if "Grüße" in text)
    browser.click(f"tbody tr:nth-child({row + 1}) button.grave")
    browser.until_text("dialog", "1 job matches")
    line = browser.text("dialog .command code")
    browser.press("Escape")
    tour.check("a hidden character is written out there too", "\\u202e" in line, line)
    tour.check("and it works", "dropped 1 job" in tour.shell(f"{line} --yes"))
    tour.go("jobs")
    browser.until("jobs", lambda: browser.count("tbody tr") == 50)
    tour.go("failures")
    browser.until("another group less", lambda: browser.count("tbody tr") > 1 and not any(
        "Grüße" in row for row in browser.texts("tbody tr")))
    row = next(i for i, text in enumerate(browser.texts("tbody tr")) if "550" in text)
    browser.run("document.querySelectorAll('tbody tr')[arguments[0]].querySelector('a').focus()", row)
    browser.press("r")
    browser.until_text("dialog", "12 jobs match")
    tour.answer_dialog("12 jobs set to run again.")
    tour.check("a group runs again by a key", True)
    tour.scene.until(jobs["hostile"], "failed")


def tables(tour):
    """5: tables, filters, pages, all that match."""
    browser = tour.browser
    tour.go("jobs")
    browser.until("rows", lambda: browser.count("tbody tr") == 50)
    browser.click('.tabs a[href*="state=waiting"]')
    browser.until("waiting jobs only", lambda: set(
        text.strip() for text in browser.texts("tbody .state")) == {"waiting"})
    browser.write('.filters [name="thread"]', "reports")
    browser.write('.filters [name="key"]', "client-1")
    browser.press("Enter")
    browser.until("the filters in the address", lambda: all(
        part in browser.address() for part in ("state=waiting", "thread=reports", "key=client-1")))
    browser.until("40 rows", lambda: browser.count("tbody tr") == 40)
    tour.check("40 of 120 jobs have the key", True)
    lines = tour.shell(browser.text(".jobs .command code")).splitlines()
    tour.check("it prints the same jobs", [line.split()[0] for line in lines[1:]]
               == browser.texts("tbody td:first-child"), lines)
    tour.go("jobs?state=waiting&thread=reports")
    seen = []
    browser.until("a page", lambda: browser.count("tbody tr") == 50)
    while True:
        seen += browser.texts("tbody td:first-child")
        if browser.count('.pager a[rel="next"]') == 0:
            break
        before = browser.text("tbody td:first-child")
        browser.click('.pager a[rel="next"]')
        browser.until("another page", lambda: browser.text("main .nothing")
                      or browser.text("tbody td:first-child") not in (None, before))
    tour.check("pages go on to the last of 120 jobs", len(seen) == len(set(seen)) == 120, len(seen))
    tour.go("jobs?state=delayed&thread=mail&older=1h")
    browser.until("no job is so old", lambda: browser.is_seen("main .nothing"))
    tour.go("jobs?state=delayed&older=soon")
    browser.until_text("main .notice", '"soon" is no age')
    tour.check("an age that is none is told", True)
    tour.go("jobs?state=waiting&thread=reports&key=client-2")
    browser.until("its button", lambda: browser.is_seen(".bulk button"))
    browser.click(".bulk button")
    browser.until_text("dialog", "40 jobs match, up to number")
    tour.answer_dialog("40 jobs cancelled.")
    tour.check("all that match are cancelled, after a count", True)
    browser.until("none is left", lambda: browser.is_seen("main .nothing"))


def stories(tour):
    """6: a job's story."""
    browser, jobs = tour.browser, tour.jobs
    reasons = {
        "paused": "reports is paused", "behind": "behind 4 jobs", "held": f"held up by job {jobs['holds']}",
        "unserved": "no worker ocr is free to take it", "delayed": "not due: in 59 min",
    }
    for name, reason in reasons.items():
        tour.go(f"jobs/{jobs[name]}")
        browser.until_text(".story .present", reason)
        tour.check(f"why a job waits: {reason}", True)
    tour.go(f"jobs/{jobs['flaky']}")
    tour.scene.until(jobs["flaky"], "failed")
    browser.until_text(".story", "Failed after")
    story = browser.text(".story")
    tour.check("attempts are told", "Attempts 1 to 2 did not succeed" in story
               and "Attempt 3 began" in story and "exit status 75" in story, story)
    browser.until_text(".outputs", "try 3")
    browser.click(".output:last-child button")
    browser.until_text(".output:last-child", "try 1")
    tour.check("the output of each attempt is shown", True)
    tour.go(f"jobs/{jobs['done']}")
    browser.until_text("main .head", "done")
    browser.click(".on-demand button")
    browser.until_text("pre.text", "LINE 0")
    tour.check("a result is fetched when it is asked for", True)
    payloads(tour)
    tour.go(f"jobs/{jobs['running']}")
    browser.until_text("main .progress", "40 % page 2")
    tour.check("progress is shown", True)
    tour.check("which tells as much", "resize" in tour.shell(browser.text(".job > .command code")))


def payloads(tour):
    browser, jobs = tour.browser, tour.jobs
    tour.go(f"jobs/{jobs['hostile']}")
    browser.until_text("main .head", "failed")
    tour.check("a label with markup is text", "<b>bold</b>" in browser.text(".job > .facts"))
    browser.click(".on-demand button")
    browser.until_text("pre.text", HOSTILE)
    tour.check("a payload with markup is text", "owned" not in browser.get("/title")
               and browser.count("main script, main img") == 0)
    tour.go(f"jobs/{jobs['unicode']}")
    browser.until_text("main .head", "failed")
    browser.click(".on-demand button")
    browser.until_text("pre.text", UNICODE.replace("\u202e", "\\u202e"))
    tour.check("so is one in many scripts", True)
    tour.go(f"jobs/{jobs['bytes']}")
    browser.until_text("main .head", "delayed")
    browser.click(".on-demand button")
    browser.until_text("pre.text", "000000  00 01 02 ff 00 fe 3c 73 63 72 69 70 74 3e")
    tour.check("bytes are shown in hexadecimal", True)
    tour.go(f"jobs/{jobs['large']}")
    browser.until_text("main .head", "delayed")
    browser.click(".on-demand button")
    browser.until_text(".bytes-head", "the first 64.0 KB of 195.3 KB")
    length = browser.run("return document.querySelector('pre.text').textContent.length")
    tour.check("of a large payload the first 64 KB", length == 65536, length)


def threads(tour):
    """7: a thread's page, schedules, the log of operators."""
    browser, jobs = tour.browser, tour.jobs
    tour.go("threads/imports")
    browser.until_text("main .head", "stuck")
    browser.until_text(".thread", "Where it hangs")
    browser.until("the functions", lambda: browser.is_seen(".thread pre.text, .thread .nothing"))
    tour.check("a stuck thread shows where it hangs", True)
    tour.go("threads/exports")
    browser.until_text(".times", "run shout")
    tour.check("p50 and p99 of waits and runs", "wait" in browser.text(".times")
               and "p99" in browser.text(".times"))
    browser.press("p")
    command = tour.answer_dialog("exports is paused.")
    tour.check(f"a key pauses it: {command}", command == "workerctl pause exports")
    browser.until_text("main .head", "paused")
    browser.click("main .head button")
    tour.answer_dialog("exports goes on.")
    browser.until("its state", lambda: "paused" not in browser.text("main .head"))
    tour.shell(browser.text(".thread > .command code"))
    tour.go("schedules")
    browser.until_text("tbody", "beat")
    tour.shell(browser.text(".schedules > .command code"))
    text = browser.text("tbody")
    tour.check("schedules tell the next moment and the last job",
               "every 2 s" in text and " in " in text and "job " in text
               and "30 3 * * * Europe/Berlin" in text, text)
    tour.shell("workerctl schedule busy --every 100ms --overlap skip exports sleep 60000")
    browser.until_text("tbody", "without a job, the last ")
    tour.check("schedules tell their missed moments", True)
    tour.shell("workerctl unschedule busy && workerctl cancel exports sleep")
    tour.go("log")
    browser.until("the log", lambda: browser.is_seen("main .rows table, main .notice"))
    if browser.is_seen("main .rows table"):
        tour.check("the log tells what operators did", "PAUSE" in browser.text("tbody"))
    tour.go(f"jobs/{jobs['behind']}")
    browser.until_text("main .head", "waiting")
    browser.press("x")
    command = tour.answer_dialog("is cancelled: it never runs.")
    tour.check(f"a key cancels a job: {command}", command == f"workerctl cancel {jobs['behind']}")
    browser.until_text("main .head", "cancelled")


def workers(tour):
    """8: who serves; the time as UTC or local."""
    browser = tour.browser
    tour.go("workers")
    browser.until_text("main", "No other process serves jobs.")
    tour.check("with a file there are no nodes", not browser.is_seen(".nodes"))
    for line in browser.texts(".workers > .command code"):
        tour.shell(line)
    row = next(text for text in browser.texts("tbody tr") if text.startswith("ocr"))
    tour.check("a selector without a worker is told", "none" in row, row)
    tour.go("schedules")
    browser.devtools("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")
    tour.sign_in_again()
    tour.go("schedules")
    browser.until_text("tbody", "nightly")
    utc = browser.text("tbody tr:last-child time")
    browser.click("#zone")
    browser.until_text("#zone", "Tokyo")
    browser.until("local time", lambda: browser.text("tbody tr:last-child time") != utc)
    tour.sign_in_again()
    tour.check("the choice of local time is kept", "Tokyo" in browser.text("#zone"))
    browser.click("#zone")
    browser.until_text("#zone", "UTC")


def keys(tour):
    """9: keys."""
    browser = tour.browser
    tour.go("threads")
    browser.until("lanes", lambda: browser.count(".lane .drawing") >= 7)
    browser.press("?")
    browser.until_text("dialog", "pause or resume")
    browser.press("Escape")
    browser.until("the end of the help", lambda: not browser.is_seen("dialog"))
    focused = "return document.activeElement.closest('[data-row]')?.dataset.row"
    browser.press("j")
    first = browser.run(focused)
    browser.press("j")
    second = browser.run(focused)
    browser.press("k")
    tour.check("j and k go through the rows",
               first and second and first != second and browser.run(focused) == first)
    browser.press("p")
    browser.until_text("dialog", f"workerctl pause {first}")
    browser.press("Escape")
    browser.press("Enter")
    browser.until("its view", lambda: f"threads/{first}" in browser.address())
    tour.go("threads")
    browser.until("lanes", lambda: browser.count(".lane .drawing") >= 7)
    browser.press("/")
    browser.write("#filter", "mail/3")
    browser.until("a lane of that name", lambda: browser.texts(".lane .name") == ["mail", "mail/3"])
    tour.check("/ filters, and the address has it", "name=mail%2F3" in browser.address())
    tour.check("a key in a field is a letter", not browser.is_seen("dialog"))
    browser.press("Escape", "3")
    browser.until("the third view", lambda: browser.address().endswith("#/jobs"))


def quiet(tour):
    """9: one stream while the page is seen; nothing is asked for again and again."""
    browser = tour.browser
    tour.go("log")
    time.sleep(1)
    browser.requests()
    time.sleep(4)
    asked = browser.requests()
    tour.check("nothing polls", asked == [], asked)
    browser.post("/window/minimize")
    browser.until("the end of the stream", lambda: browser.open_count("/api/live") == 0)
    tour.check("the stream is closed while the page is hidden", True)
    browser.post("/window/rect", {"width": 1200, "height": 900})
    browser.until("a stream again", lambda: browser.open_count("/api/live") == 1)
    browser.until_text("#freshness-text", "live")
    tour.check("and begins anew when it is seen", True)


def users(tour):
    """Who may do what: the key by a ticket or a form, buttons only for who may press them."""
    browser, jobs = tour.browser, tour.jobs
    link = tour.scene.link()
    browser.open(link)
    browser.until_text("#freshness-text", "live")
    tour.check("a ticket signs in, and stays in no address", "ticket" not in browser.address()
               and browser.text("#user") == "night", browser.address())
    browser.click("#sign-out")
    browser.until("the form", lambda: browser.is_seen("#key"))
    browser.open("about:blank")
    browser.open(link)
    browser.until_text("#sign-in", "A link is valid once")
    tour.check("it does so once", True)
    browser.write("#key", "0123456789abcdef0123456789abcdef")
    browser.press("Enter")
    browser.until_text("#sign-in", "The key is not taken")
    browser.run("document.getElementById('key').value = ''")
    tour.sign_in("guest")
    tour.check("who may only look has no log of operators", "Log" not in browser.text("#views"))
    for view in ("threads/exports", f"jobs/{jobs['held']}", "jobs?state=failed"):
        tour.go(view)
        browser.until("the view", lambda: browser.is_seen("main .head, main tbody tr"))
        time.sleep(0.3)
        buttons = [text for text in browser.texts("main button") if text not in ("Copy", "Filter")]
        tour.check(f"and no button that changes anything: {view}", buttons == [], buttons)
    tour.go(f"jobs/{jobs['hostile']}")
    browser.until_text("main", "You may not see payloads and results.")
    tour.check("nor payloads and reasons", "script" not in browser.text("main"))
    browser.press("r")
    tour.check("and a key does nothing", not browser.is_seen("dialog"))
    # The view stays: the job is no such user's.
    tour.go("threads")
    browser.click("#sign-out")
    tour.sign_in("clerk")
    browser.until("lanes", lambda: browser.count(".lane .drawing") >= 2)
    names = sorted(browser.texts(".lane .name"))
    tour.check("a user of some threads sees those", names[0] == "exports" and names[-1] == "mail/1"
               and all(name.startswith(("exports", "mail/1")) for name in names), names)
    tour.check("and the verdict is about them", browser.text("#verdict-line") == "All well",
               browser.texts("#verdict-list li"))
    tour.check("and nothing of others", not any(
        word in browser.text("body") for word in ("imports", "reports", "ledger", "scans")))
    browser.click("#sign-out")
    tour.sign_in("night")


def freshness(tour):
    """2: never stale numbers in colour."""
    browser = tour.browser
    browser.click("#sign-out")
    tour.sign_in("night")
    tour.go("threads")
    browser.until("lanes", lambda: browser.count(".lane .drawing") >= 7)
    tour.scene.stop()
    browser.until_text("#freshness-text", "not connected for ")
    browser.until_text("#freshness-text", "not connected for 2 s")
    looks_of = "return getComputedStyle(document.querySelector(arguments[0])).filter"
    tour.check("numbers of the past are grey",
               all(browser.run(looks_of, part) == "grayscale(1)" for part in ("main", ".verdict")))
    tour.check("they are still there", browser.count(".lane .drawing") >= 7)
    tour.scene.start()
    browser.until_text("#freshness-text", "live")
    tour.check("it comes back by itself", browser.run(looks_of, "main") == "none")
    stored = browser.run("return sessionStorage.length")
    tour.check("one key is kept, in this tab", stored == 1, stored)
    tour.enter()
    tour.scene.stop()
    tour.scene.start()
    browser.until_text("#sign-in", "The key is not valid any more.")
    tour.check("a key by a ticket ends with workerd", True)


def appearance(tour):
    """9: light and dark, narrow, motion, names."""
    looks.check_narrow(tour)
    looks.check_contrast(tour)
    looks.check_names(tour)
    looks.check_motion(tour)


def take_pictures(tour, directory):
    """The pictures of README and Documents/Page.md."""
    browser = tour.browser
    os.makedirs(directory, exist_ok=True)
    for name, view, scheme, (width, height) in [
            ("threads-light", "threads", "light", (1200, 780)),
            ("threads-dark", "threads", "dark", (1200, 780)),
            ("threads-narrow", "threads", "light", (320, 780)),
            ("job", "jobs/{flaky}", "light", (1200, 780)),
            ("failures", "failures", "dark", (1200, 620)),
            ("waiting", "jobs?state=waiting", "light", (1200, 620))]:
        browser.resize(width, height)
        browser.prefer(prefers_color_scheme=scheme)
        list(looks.each_view(tour, [view]))
        # Fonts and the latest change of the server.
        time.sleep(1.2)
        browser.picture(f"{directory}/{name}.png")
    browser.prefer(prefers_color_scheme="light")
    browser.resize(1200, 1100)


def many_threads(binaries, directory):
    """With 1,000 threads, only the lanes in sight are drawn."""
    with tempfile.TemporaryDirectory(prefix="page.") as at:
        scene = Scene(binaries, at, threads=1_000)
        scene.start()
        browser = Browser(directory)
        try:
            tour = Tour(browser, scene, {})
            tour.enter()
            # All tasks of more than 50 ms, those since the page began among them.
            browser.run("""
                window.longTasks = [];
                new PerformanceObserver((list) => longTasks.push(
                  ...list.getEntries().map((task) => task.duration)))
                  .observe({ type: "longtask", buffered: true })""")
            browser.until("a thousand lanes", lambda: browser.count(".lane") >= 1_000)
            drawn = browser.count(".lane .drawing")
            tour.check("of a thousand lanes only those in sight are drawn", drawn < 80, drawn)
            began = time.monotonic()
            for _ in range(10):
                browser.press("j")
            browser.run("scrollTo(0, document.body.scrollHeight)")
            browser.until("the last lane", lambda: browser.run(
                "return document.querySelector('.lane:last-child .drawing') !== null"))
            browser.press("/")
            browser.write("#filter", "unit0777")
            browser.until("one lane", lambda: browser.texts(".lane .name") == ["unit0777"])
            seconds = time.monotonic() - began
            tour.check("and the page answers at once", seconds < 5, seconds)
            longest = max(browser.run("return longTasks"), default=0)
            tour.check(f"no task takes long: at most {longest:.0f} ms", longest < 500)
        finally:
            browser.close()
            scene.stop()


def several_nodes(binaries, directory, is_encrypted, shares_threads):
    check = nodes.check_sharing if shares_threads else nodes.check
    print(check.__doc__)
    with tempfile.TemporaryDirectory(prefix="page.") as at, \
            nodes.shared_database(binaries, at, is_encrypted, shares_threads) as (first, second):
        browser = Browser(directory, accepts_any_certificate=is_encrypted)
        try:
            browser.resize(1200, 1100)
            check(Tour(browser, first, {}), first, second)
        finally:
            browser.close()


STEPS = [verdict, lanes, stories, tables, threads, workers, failures, keys, quiet, appearance,
         rules.check, users]


def main():
    binaries, mode = sys.argv[1], sys.argv[2:]
    is_encrypted = mode[:1] == ["--tls"]
    if is_encrypted:
        del mode[0]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="page.") as at:
        scene = Scene(binaries, at, is_encrypted=is_encrypted)
        scene.start()
        browser = Browser(f"{at}/browser", accepts_any_certificate=is_encrypted)
        try:
            takes_pictures = mode[:1] == ["--pictures"]
            if takes_pictures:
                scene.work(11, ["exports", "mail", "images", "ledger", "reports", "scans", "imports"])
                # Else the job to be shown as running waits behind those.
                scene.until_idle()
            jobs = scene.fill()
            if takes_pictures:
                scene.work(4, ["exports", "mail"])
            tour = Tour(browser, scene, jobs)
            browser.resize(1200, 1100)
            browser.prefer(prefers_color_scheme="light")
            tour.enter()
            if takes_pictures:
                return take_pictures(tour, mode[1])
            secure = browser.run("return location.protocol + ' ' + isSecureContext")
            tour.check(f"the page comes over {scene.scheme}",
                       secure == f"{scene.scheme}: true", secure)
            for step in STEPS + [freshness]:
                print(step.__doc__)
                step(tour)
            # Lost connections and refused keys were wanted.
            complaints = [line for line in browser.complaints()
                          if "ERR_" not in line and "status of 401" not in line]
            tour.check("the browser complains of nothing", not complaints, complaints)
            outside = [url for url in browser.all_requests
                       if not url.startswith((scene.url, "chrome", "data:", "about:"))]
            tour.check("no other server was asked", not outside, outside)
        except Failed as fault:
            browser.picture(f"{tempfile.gettempdir()}/page-fault.png")
            raise SystemExit(f"page: {fault}; {tempfile.gettempdir()}/page-fault.png shows it")
        finally:
            browser.close()
            scene.stop()
        for shares_threads in (False, True):
            several_nodes(
                binaries, f"{at}/other{shares_threads}", is_encrypted, shares_threads)
        if mode != ["--quick"]:
            print("A thousand threads")
            many_threads(binaries, f"{at}/another")
    print(f"the page shows what it should, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"page: {failed}")
