"""Rules of the page whose cases would take a night to come about: its modules, with made-up states."""

MINUTE = 60_000
NOW = 1_795_000_000_000
BUCKET = NOW // 5_000

# The verdict on a snapshot: its headline and its things.
VERDICT = """
const { LiveState } = await import("/liveState.js");
const { headline, troubles } = await import("/trouble.js");
const state = new LiveState();
state.takeSnapshot(args[0]);
const found = troubles(state);
return [headline(found), ...found.map((trouble) => trouble.text)];
"""


def pool(name, **more):
    return {"name": name, "members": 1, "waiting": 0, "held": 0, "awaiting": 0, "delayed": 0,
            "max-queued": 1_000, **more}


def thread(name, **more):
    return {"name": name, "pool": name, "state": "idle", "done": 0, "failed": 0, **more}


def snapshot(pools=(), threads=(), selectors=(), server=(), counts=()):
    return {"time": NOW, "server": {"writable": True, "draining": False, **dict(server)},
            "counts": dict(counts), "timeline": {"bucket": 5_000, "count": 180},
            "pools": list(pools), "threads": list(threads), "selectors": list(selectors)}


USUAL = [{"name": "resize", "run": {"count": 500, "p50": 10, "p99": 30_000}}]

# The name of a state, and the things that the verdict must name: none if all is well.
CASES = [
    ("nothing", snapshot(), []),
    ("idle threads", snapshot([pool("mail")], [thread("mail")]), []),
    ("a store that fails", snapshot(server={"writable": False}),
     ["store not writable: durable jobs are refused"]),
    ("an end", snapshot(server={"draining": True}), ["going down: new jobs are refused"]),
    ("a wait of 9 min", snapshot([pool("mail", waiting=3, oldest=NOW - 9 * MINUTE)],
                                 [thread("mail")]), []),
    ("a wait of 12 min", snapshot([pool("mail", waiting=3, oldest=NOW - 12 * MINUTE)],
                                  [thread("mail")]), ["mail: oldest waits 12 min"]),
    ("a long wait behind a failed job", snapshot(
        [pool("ledger", waiting=3, held=3, oldest=NOW - 12 * MINUTE,
              **{"held-by": {"job": 7, "until": NOW}})], [thread("ledger", state="held")]),
     ["ledger: held up by job 7 for 12 min"]),
    ("a paused thread without jobs", snapshot([pool("mail")], [thread("mail", state="paused")]),
     []),
    ("a paused thread with old jobs", snapshot(
        [pool("mail", waiting=41, oldest=NOW - 99 * MINUTE)], [thread("mail", state="paused")]),
     ["mail is paused, and 41 jobs wait"]),
    ("a queue that is nearly full", snapshot([pool("mail", waiting=900, oldest=NOW)],
                                             [thread("mail")]),
     ["mail: 900 of at most 1,000 jobs wait"]),
    ("a job that takes long", snapshot([pool("mail")], [thread("mail", state="running", job={
        "id": 7, "selector": "resize", "since": NOW - 12 * MINUTE, "attempt": 1})], USUAL),
     ["mail: job 7 runs for 12 min, usually at most 30 s"]),
    ("one that takes as long as usual", snapshot([pool("mail")], [thread(
        "mail", state="running", job={
            "id": 7, "selector": "resize", "since": NOW - 80_000, "attempt": 1})], USUAL), []),
    ("few failures", snapshot([pool("mail")], [thread(
        "mail", buckets=[[BUCKET, 10, 3, 2, 0, 0, 1, 5]])]), []),
    ("many failures", snapshot([pool("mail")], [thread(
        "mail", buckets=[[BUCKET - 1, 2, 3, 0, 0, 0, 1, 5], [BUCKET, 1, 4, 2, 0, 0, 1, 5]])]),
     ["mail: 9 of 12 attempts failed in 15 min"]),
    ("old failures", snapshot([pool("mail")], [thread(
        "mail", buckets=[[BUCKET - 200, 0, 9, 0, 0, 0, 1, 5]])]), []),
    ("jobs for a thread that is gone", snapshot(counts={"orphaned": 7}),
     ["7 jobs for threads or selectors configured no more"]),
    ("several, the worst first", snapshot(
        [pool("mail", waiting=3, oldest=NOW - 12 * MINUTE), pool("ledger")],
        [thread("mail"), thread("ledger", state="stuck", job={
            "id": 7, "selector": "resize", "since": NOW - 9 * MINUTE, "attempt": 1,
            "stuck-since": NOW - 4 * MINUTE})]),
     ["ledger stuck for 4 min", "mail: oldest waits 12 min"]),
]

# Texts as people read and write them.
TEXTS = """
const text = await import("/text.js");
const bytes = await import("/bytes.js");
const { workerctl } = await import("/shell.js");
return {
  durations: [5, 1_500, 12_000, 61_000, 620_000, 3_900_000, 100_000_000].map(text.duration),
  ages: ["90s", "10m", "1h30m", "2 d", "soon", "10", ""].map(text.milliseconds),
  plain: text.plain("a\\u202eb\\u0000c 👩‍👩"),
  hexadecimal: bytes.hexadecimal(new Uint8Array([0, 65, 255])),
  line: workerctl("drop", "--reason", "it's $HOME", 7),
  hidden: workerctl("drop", "it's\\u202e\\\\"),
};
"""
TEXTS_WANTED = {
    "durations": ["5 ms", "1.5 s", "12 s", "1 min 1 s", "10 min", "1 h 5 min", "1 d 3 h"],
    "ages": [90_000, 600_000, 5_400_000, 172_800_000, None, None, None],
    "plain": "a\\u202eb\\u0000c 👩‍👩",
    "hexadecimal": "000000  00 41 ff" + " " * 41 + ".A.",
    "line": "workerctl drop --reason 'it'\\''s $HOME' 7",
    "hidden": "workerctl drop $'it\\'s\\u202e\\\\'",
}


# The nodes of a made-up answer: whether they are shown, and the cells of each.
NODES = """
const { LiveState } = await import("/liveState.js");
const { WorkersView } = await import("/workersView.js");
const state = new LiveState();
state.takeSnapshot({ time: args[1] });
const get = async (path) => {
  if (path !== "/api/nodes") return { workers: [], selectors: [] };
  if (args[0] === null) throw Object.assign(new Error("it is away"), { word: "BUSY" });
  return { nodes: args[0] };
};
const view = new WorkersView({ live: { state }, api: { get } });
view.opened();
await new Promise((resolve) => setTimeout(resolve));
const part = view.element.querySelector(".nodes");
return [!part.hidden, ...part.querySelectorAll(".notice, tbody tr")].map((row) =>
  row === true || row === false ? row : [...row.childNodes].map((cell) => cell.textContent));
"""


def node(state, **more):
    return {"name": "one", "state": state, "since": NOW, "trusted": None, "epoch": None,
            "address": None, "http": None, **more}


NODE_CASES = [
    ("a node with a file is not shown", [node("serves", trusted=True)], [False]),
    ("one with a database is", [node("serves", trusted=True, epoch=1)],
     [True, ["one", "serves", "yes", "WHEN", "–", "–", "–"]]),
    ("one without trust", [node("serves", trusted=False, epoch=1), node("waits", name="two")],
     [True, ["one", "serves", "no: no kept job begins", "WHEN", "–", "–", "–"],
      ["two", "waits", "–", "WHEN", "–", "–", "–"]]),
    ("texts of other nodes are text", [node("waits", name="<b>\u202e", http="<i>")],
     [True, ["<b>\\u202e", "waits", "–", "WHEN", "–", "<i>", "–"]]),
    ("nodes that share threads", [
        node("serves", trusted=True, http="http://10.0.0.1:7712", threads=["disk", "mail"]),
        node("serves", name="two", threads=[], link="ok"),
        node("serves", name="three", threads=[], link="it does not answer")],
     [True, ["one", "serves", "yes", "WHEN", "–", "http://10.0.0.1:7712", "disk, mail"],
      ["two", "serves", "–", "WHEN", "–", "–", "–"],
      ["three", "serves", "–", "WHEN", "– not reached: it does not answer", "–", "–"]]),
    ("a database that is away", None, [True, ["it is away"]]),
]


def check(tour):
    """The rules of the verdict and of nodes, and texts."""
    for name, answer, wanted in NODE_CASES:
        is_shown, *rows = tour.browser.run_async(NODES, answer, NOW)
        for row in rows:
            # A time as the browser's user wants it.
            if len(row) > 3:
                row[3] = "WHEN" if row[3].count(":") == 2 else row[3]
        found = [is_shown, *(rows if is_shown else [])]
        tour.check(name, found == wanted, found)
    for name, state, things in CASES:
        found = tour.browser.run_async(VERDICT, state)
        count = len(things)
        head = ("All well" if count == 0 else "1 thing needs you" if count == 1
                else f"{count} things need you")
        tour.check(f"{name}: {'; '.join(things) or head}", found == [head, *things], found)
    found = tour.browser.run_async(TEXTS)
    for name, wanted in TEXTS_WANTED.items():
        tour.check(f"{name} are as people read them", found[name] == wanted, found[name])
