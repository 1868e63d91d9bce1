// The latest state of the server: a snapshot, and the changes since.

/** Numbers in a bucket of the time line, by their places. */
export const Bucket = {
  number: 0, done: 1, failed: 2, timedOut: 3, cancelled: 4, expired: 5, longestJob: 6,
  longestMilliseconds: 7,
};

/** The rows by name, as the latest messages tell them. */
export class LiveState {
  /** The server's time in the latest message. */
  time = 0;
  server = {};
  counts = {};
  timeline = { bucket: 5_000, count: 180 };
  pools = new Map();
  threads = new Map();
  selectors = new Map();
  /** When the latest message came, by the browser's own clock. */
  #receivedAt = 0;
  /** The threads by their pools; null until it is asked for after a message. */
  #members = null;

  /** The server's time now. */
  now() {
    return this.time + (performance.now() - this.#receivedAt);
  }

  /** The threads of a pool. */
  threadsOf(pool) {
    this.#members ??= Map.groupBy(this.threads.values(), (thread) => thread.pool);
    return this.#members.get(pool) ?? [];
  }

  /** Begins anew. */
  takeSnapshot(data) {
    this.server = data.server ?? {};
    this.counts = data.counts ?? {};
    this.timeline = data.timeline ?? this.timeline;
    this.pools = byName(data.pools);
    this.threads = byName(data.threads);
    this.selectors = byName(data.selectors);
    this.#note(data.time);
  }

  /**
   * Adds a change.
   *
   * @returns the names of the changed rows, and whether the counts changed.
   */
  takeChange(data) {
    this.#note(data.time);
    if (data.server) this.server = data.server;
    if (data.counts) this.counts = data.counts;
    const oldest = Math.floor(this.time / this.timeline.bucket) - this.timeline.count;
    const merge = (rows, changed) => {
      for (const row of changed ?? []) {
        const before = rows.get(row.name)?.buckets ?? [];
        row.buckets = mergeBuckets(before, row.buckets ?? [], oldest);
        rows.set(row.name, row);
      }
    };
    merge(this.pools, data.pools);
    merge(this.threads, data.threads);
    for (const row of data.selectors ?? []) this.selectors.set(row.name, row);
    return {
      pools: (data.pools ?? []).map((row) => row.name),
      threads: (data.threads ?? []).map((row) => row.name),
      hasCounts: data.counts !== undefined,
    };
  }

  #note(time) {
    this.time = time;
    this.#receivedAt = performance.now();
    this.#members = null;
  }
}

function byName(rows) {
  return new Map((rows ?? []).map((row) => [row.name, row]));
}

/** Both lists are in the order of their numbers. */
function mergeBuckets(before, changed, oldest) {
  if (changed.length === 0 && (before.length === 0 || before[0][0] > oldest)) return before;
  const numbers = new Set(changed.map((bucket) => bucket[Bucket.number]));
  const kept = before.filter(
    (bucket) => bucket[Bucket.number] > oldest && !numbers.has(bucket[Bucket.number]));
  return [...kept, ...changed].sort((a, b) => a[Bucket.number] - b[Bucket.number]);
}
