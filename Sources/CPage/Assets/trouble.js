// Troubles that need a person: rules over the server's state. Pure: the same state gives the same
// list.

import { Bucket } from "./liveState.js";
import { age, count, counted } from "./text.js";
import { link } from "./router.js";

/** A job that waits longer is told, as by the alert rules in Config/alerts.yml. */
const waitMax = 600_000;
/** A job that runs longer than this, and than three times its usual p99, is told. */
const runMin = 60_000;
const runFactor = 3;
/** What is usual is known from so many attempts on. */
const usualMin = 20;
/** Attempts are looked at over so many buckets, and told from so many failures on. */
const failureBuckets = 180;
const failuresMin = 3;
/** A queue that is so full is told. */
const fullShare = 0.9;

/**
 * The things that need a person, the worst first: each has a `text`, a `gist` without a changing
 * duration, a `rank` (0 is worst), the `pool` it is about and a `link`.
 */
export function troubles(state) {
  const now = state.now();
  const found = [...serverTroubles(state)];
  for (const thread of state.threads.values()) found.push(...threadTroubles(thread, now));
  for (const pool of state.pools.values()) found.push(...poolTroubles(pool, state, now));
  return found.sort((a, b) => a.rank - b.rank);
}

function* serverTroubles({ server, counts }) {
  if (server.writable === false) {
    yield {
      rank: 0, pool: null, link: null, gist: "store not writable",
      text: "store not writable: durable jobs are refused",
    };
  }
  if (server.draining) {
    yield { rank: 1, pool: null, link: null, text: "going down: new jobs are refused" };
  }
  if (counts.orphaned > 0) {
    yield {
      rank: 5, pool: null, link: link("jobs", null, { state: "waiting" }),
      text: `${counted(counts.orphaned, "job")} for threads or selectors configured no more`,
    };
  }
}

function* threadTroubles(thread, now) {
  const { name, pool, job } = thread;
  if (thread.state === "stuck") {
    const since = job?.["stuck-since"] ?? job?.since;
    yield {
      rank: 1, pool, thread: name, link: link("threads", name), gist: `${name} stuck`,
      text: since ? `${name} stuck for ${age(now - since)}` : `${name} stuck`,
    };
  }
}

/** Jobs that run much longer than their like: one thing for each pool. */
function* longJobs(pool, members, state, now) {
  const long = members.filter(({ state: word, job }) => {
    const usual = job ? state.selectors.get(job.selector)?.run : undefined;
    if (!usual || usual.p99 === null || usual.count < usualMin || word === "stuck") return false;
    return now - job.since > Math.max(runMin, runFactor * usual.p99);
  }).map((thread) => thread.job).sort((a, b) => a.since - b.since);
  if (long.length === 0) return;
  const [job] = long;
  const usual = state.selectors.get(job.selector).run;
  const running = `job ${job.id}${long.length > 1 ? "" : " runs"} for ${age(now - job.since)}`;
  const others = long.length > 1 ? `${counted(long.length, "job")} run long, ` : "";
  yield {
    rank: 4, pool, link: link("jobs", job.id), gist: `${pool}: job ${job.id} runs long`,
    text: `${pool}: ${others}${running}, usually at most ${age(usual.p99)}`,
  };
}

function* poolTroubles(pool, state, now) {
  const { name } = pool;
  const members = state.threadsOf(name);
  const jobs = link("jobs", null, { state: "waiting", thread: name });
  const isPaused = members.length > 0
    && members.every((thread) => thread.state === "paused" || thread.state === "pausing");
  if (isPaused) {
    if (pool.waiting > 0) {
      yield {
        rank: 4, pool: name, link: link("threads", name), gist: `${name} paused`,
        text: `${name} is paused, and ${counted(pool.waiting, "job")} wait`,
      };
    }
  } else if (pool.awaiting > 0) {
    // On a single thread all others wait behind that one.
    const held = pool.members === 1 ? pool.waiting : pool.awaiting;
    yield {
      rank: 3, pool: name, link: jobs, gist: `${name}: jobs wait for a worker`,
      text: `${name}: no worker${forSelectors(members)}, and ${counted(held, "job")} wait`,
    };
  } else if (pool["held-by"] && now - (pool.oldest ?? now) > waitMax) {
    yield {
      rank: 3, pool: name, link: link("jobs", pool["held-by"].job),
      gist: `${name}: held up by job ${pool["held-by"].job}`,
      text: `${name}: held up by job ${pool["held-by"].job} for ${age(now - pool.oldest)}`,
    };
  } else if (pool.oldest !== undefined && now - pool.oldest > waitMax) {
    yield {
      rank: 2, pool: name, link: jobs + "&order=oldest", gist: `${name}: jobs wait long`,
      text: `${name}: oldest waits ${age(now - pool.oldest)}`,
    };
  }
  if (pool["max-queued"] > 0 && pool.waiting >= fullShare * pool["max-queued"]) {
    yield {
      rank: 2, pool: name, link: jobs, gist: `${name}: queue nearly full`,
      text: `${name}: ${count(pool.waiting)} of at most ${count(pool["max-queued"])} jobs wait`,
    };
  }
  yield* longJobs(name, members, state, now);
  const ends = recentEnds([pool, ...members], state, now);
  if (ends.bad >= failuresMin && ends.bad > ends.all / 2) {
    yield {
      rank: 3, pool: name, link: link("jobs", null, { state: "failed", thread: name }),
      gist: `${name}: most attempts fail`,
      text: `${name}: ${count(ends.bad)} of ${counted(ends.all, "attempt")} failed in 15 min`,
    };
  }
}

function forSelectors(members) {
  const selectors = new Set(
    members.map((thread) => thread["awaits-worker"]?.selector).filter(Boolean));
  return selectors.size > 0 ? ` for ${[...selectors].join(", ")}` : "";
}

/** How many attempts ended in the time of the time line, and how many of them badly. */
export function recentEnds(rows, state, now = state.now()) {
  const oldest = Math.floor(now / state.timeline.bucket) - failureBuckets;
  const ends = { all: 0, bad: 0 };
  for (const row of rows) {
    for (const bucket of row.buckets ?? []) {
      if (bucket[Bucket.number] <= oldest) continue;
      const bad = bucket[Bucket.failed] + bucket[Bucket.timedOut];
      ends.bad += bad;
      ends.all += bad + bucket[Bucket.done];
    }
  }
  return ends;
}

/** "All well", or "3 things need you". */
export function headline(list) {
  if (list.length === 0) return "All well";
  return list.length === 1 ? "1 thing needs you" : `${count(list.length)} things need you`;
}
