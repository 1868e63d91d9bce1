// Which lanes there are, in which order: troubled ones first, a pool above its threads.

import { recentEnds } from "./trouble.js";

/**
 * So many idle threads of a pool are shown, if they have done something; others are counted until
 * they are asked for.
 */
const idleMax = 4;
const wellRank = 9;

/** The p99 of the selector of a running job, if it has run before. */
export function usualTime(job, state) {
  const run = job ? state.selectors.get(job.selector)?.run : undefined;
  return run && run.p99 !== null ? run.p99 : null;
}

/** What a lane shows of a thread. */
export function threadView(thread, state, ranks = new Map()) {
  const pool = state.pools.get(thread.pool);
  const isOnly = pool?.members === 1;
  const rows = isOnly ? [thread, pool] : [thread];
  return {
    name: thread.name, state: stateAt(pool?.node, thread.state), node: pool?.node,
    job: thread.job, buckets: thread.buckets,
    usual: usualTime(thread.job, state), held: thread["held-by"], awaits: thread["awaits-worker"],
    pool: isOnly ? pool : null, failures: recentEnds(rows, state).bad,
    rank: ranks.get(thread.name) ?? wellRank,
  };
}

/** What a lane shows of a pool of several threads. */
export function poolView(pool, threads, state, ranks = new Map()) {
  const busy = threads.filter((thread) => thread.job !== undefined).length;
  return {
    name: pool.name, state: stateAt(pool.node, poolState(threads, busy)), node: pool.node,
    buckets: pool.buckets, pool,
    members: { busy, all: pool.members }, held: pool["held-by"], usual: null,
    failures: recentEnds([pool, ...threads], state).bad, rank: ranks.get(pool.name) ?? wellRank,
  };
}

/** The state of a thread or pool that another node has is not known here. */
function stateAt(node, state) {
  return node === undefined ? state : "elsewhere";
}

function poolState(threads, busy) {
  const states = new Set(threads.map((thread) => thread.state));
  if (states.has("stuck")) return "stuck";
  if (states.size > 0 && [...states].every((state) => state === "paused" || state === "pausing")) {
    return "paused";
  }
  if (busy > 0) return "running";
  return states.has("held") ? "held" : [...states][0] ?? "idle";
}

/**
 * The lanes in their order.
 *
 * @param {LiveState} state
 * @param {Array} troubles what needs a person.
 * @param {string} filter a part of a name; empty for all.
 * @param {Set<string>} opened pools whose idle threads are shown.
 * @returns rows of `name`, `isPool`, `view` (a function) and for a pool `hidden`, the number of
 *     idle threads that are left out.
 */
export function laneRows(state, troubles, filter, opened) {
  const ranks = new Map();
  for (const { pool, thread, rank } of troubles) {
    for (const name of [pool, thread]) {
      if (name) ranks.set(name, Math.min(rank, ranks.get(name) ?? wellRank));
    }
  }
  const pools = [...state.pools.values()].sort(
    (a, b) => (ranks.get(a.name) ?? wellRank) - (ranks.get(b.name) ?? wellRank));
  const rows = pools.flatMap((pool) => rowsOf(pool, state.threadsOf(pool.name), state, ranks, {
    filter: filter.toLowerCase(), isOpened: opened.has(pool.name),
  }));
  // A user may see a thread without its pool.
  const alone = [...state.threads.values()].filter((thread) => !state.pools.has(thread.pool)
    && thread.name.toLowerCase().includes(filter.toLowerCase()));
  return [...rows, ...alone.map((thread) => rowOf(thread, state, ranks))];
}

function rowOf(thread, state, ranks) {
  // Looked up each time: the order of rows may be older than the latest message.
  const view = () => threadView(state.threads.get(thread.name) ?? thread, state, ranks);
  return { name: thread.name, isPool: false, view };
}

function rowsOf(pool, threads, state, ranks, { filter, isOpened }) {
  const matches = (name) => name.toLowerCase().includes(filter);
  const row = (thread) => rowOf(thread, state, ranks);
  if (pool.members === 1 && threads.length === 1) {
    return matches(pool.name) ? threads.map(row) : [];
  }
  const found = threads.filter((thread) => matches(thread.name));
  if (found.length === 0 && !matches(pool.name)) return [];
  const rank = (thread) => ranks.get(thread.name) ?? wellRank;
  const sorted = found.toSorted((a, b) => rank(a) - rank(b));
  let idle = 0;
  const hasWorked = (thread) => (thread.buckets ?? []).length > 0;
  const kept = sorted.filter((thread) => thread.state !== "idle" || isOpened || filter !== ""
    || (hasWorked(thread) && idle++ < idleMax));
  const shown = sorted.length - kept.length > 1 ? kept : sorted;
  return [
    {
      name: pool.name, isPool: true, hidden: sorted.length - shown.length,
      view: () => poolView(
        state.pools.get(pool.name) ?? pool, state.threadsOf(pool.name), state, ranks),
    },
    ...shown.map(row),
  ];
}
