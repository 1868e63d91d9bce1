// Draws one thread's last 15 minutes. Above the line: attempts that went well, as bars. Below it:
// all others, each outcome in a shape of its own, so that colour is never all there is.

import { svg } from "./dom.js";
import { Bucket } from "./liveState.js";

export const laneHeight = 42;
const baseline = 23;
const barMax = 18;
/** The rows of marks below the line: a bucket's gravest outcome stands in the upper one. */
const markRows = [30, 38];
const markSize = 3.8;

/** The outcomes of the marks, the gravest first, with their places in a bucket. */
export const marks = [
  { name: "failed", word: "failed", place: Bucket.failed },
  { name: "timed-out", word: "out of time", place: Bucket.timedOut },
  { name: "cancelled", word: "cancelled", place: Bucket.cancelled },
  { name: "expired", word: "expired", place: Bucket.expired },
];

/** The outline of a mark with its middle at a point: triangle, diamond, cross, ring. */
export function markPath(name, x, y, size = markSize) {
  const [l, r, t, b] = [x - size, x + size, y - size, y + size].map(round);
  switch (name) {
    case "failed": return `M${l} ${t}H${r}L${round(x)} ${b}Z`;
    case "timed-out":
      return `M${round(x)} ${t}L${r} ${round(y)}L${round(x)} ${b}L${l} ${round(y)}Z`;
    case "cancelled": return `M${l} ${t}L${r} ${b}M${r} ${t}L${l} ${b}`;
    default: {
      const half = (way) => `a${size} ${size} 0 1 0 ${way * 2 * size} 0`;
      return `M${l} ${round(y)}${half(1)}${half(-1)}Z`;
    }
  }
}

function round(number) {
  return Math.round(number * 10) / 10;
}

/** The drawing of a lane: paths that are made once and changed in place. */
export class LaneDrawing {
  #done = svg("path", { class: "done" });
  #long = svg("path", { class: "long" });
  #marks = marks.map((mark) => svg("path", { class: `mark ${mark.name}` }));
  #running = svg("path", { class: "running" });
  #usual = svg("path", { class: "usual" });
  element = svg(
    "svg", { class: "drawing", height: laneHeight, "aria-hidden": "true" },
    svg("path", { class: "base" }), this.#done, this.#long, ...this.#marks, this.#usual,
    this.#running);

  /**
   * Shows a row's buckets and its running job.
   *
   * @param {object} scale `width` in pixels, `now`, and the `timeline` of the server.
   * @param {number|null} usual how long its selector usually runs at most.
   */
  draw({ buckets = [], job }, scale, usual = null) {
    this.#drawBuckets(buckets, scale);
    this.#drawRunning(job, scale, usual);
  }

  #drawBuckets(buckets, { width, now, timeline }) {
    const step = width / timeline.count;
    const last = Math.floor(now / timeline.bucket);
    const first = last - timeline.count + 1;
    const x = (number) => (number - first) * step;
    const high = Math.log2(2 + Math.max(0, ...buckets.map((bucket) => bucket[Bucket.done])));
    let [done, long] = ["", ""];
    const paths = marks.map(() => "");
    const ends = markRows.map(() => -Infinity);
    for (const bucket of buckets) {
      const number = bucket[Bucket.number];
      if (number < first || number > last) continue;
      const left = x(number);
      if (bucket[Bucket.done] > 0) {
        const height = Math.max(3, barMax * Math.log2(1 + bucket[Bucket.done]) / high);
        const right = round(left + Math.max(1.2, step - 0.8));
        done += `M${round(left)} ${baseline}V${round(baseline - height)}H${right}V${baseline}Z`;
      }
      if (bucket[Bucket.longestMilliseconds] > 2 * timeline.bucket) {
        const width = bucket[Bucket.longestMilliseconds] / timeline.bucket * step;
        const from = Math.max(0, left - width);
        long += `M${round(from)} ${baseline + 0.5}H${round(left + step)}`;
      }
      const found = marks.filter((mark) => bucket[mark.place] > 0).slice(0, markRows.length);
      found.forEach((mark, row) => {
        // Marks that would lie upon each other are one, but a failure is always seen.
        if (left < ends[row] && mark !== marks[0]) return;
        paths[marks.indexOf(mark)] += markPath(mark.name, left + step / 2, markRows[row]);
        ends[row] = left + 2 * markSize;
      });
    }
    set(this.element.firstChild, `M0 ${baseline + 0.5}H${round(width)}`);
    set(this.#done, done);
    set(this.#long, long);
    this.#marks.forEach((element, place) => set(element, paths[place]));
  }

  /** A bar from the beginning of the running job up to now, and a tick where it usually ends. */
  #drawRunning(job, { width, now, timeline }, usual) {
    if (!job) {
      set(this.#running, "");
      set(this.#usual, "");
      return;
    }
    const span = timeline.bucket * timeline.count;
    const x = (moment) => width - (now - moment) / span * width;
    const from = Math.min(width - 3, Math.max(0, x(job.since)));
    const [top, bottom, tip] = [baseline - 5, baseline + 5, 4];
    // Older than the time line: its beginning is torn off.
    const start = x(job.since) < 0 ? `L4 ${baseline}` : "";
    const [left, shoulder] = [round(from), round(width - tip)];
    const head = `${shoulder}L${round(width)} ${baseline}L${shoulder}`;
    set(this.#running, `M${left} ${top}H${head} ${bottom}H${left}${start}Z`);
    const end = usual === null ? Infinity : x(job.since + usual);
    set(this.#usual, end > 0 && end < width ? `M${round(end)} ${top - 4}V${bottom + 4}` : "");
  }
}

function set(path, d) {
  if (path.getAttribute("d") !== d) path.setAttribute("d", d);
}

/** The bucket at a place of the drawing, or the nearest one that has something to open. */
export function bucketAt(buckets, x, { width, now, timeline }) {
  const last = Math.floor(now / timeline.bucket);
  const number = last - timeline.count + 1 + Math.floor(x / width * timeline.count);
  const near = (bucket) => Math.abs(bucket[Bucket.number] - number);
  const reach = Math.max(1, Math.ceil(6 / (width / timeline.count)));
  return (buckets ?? []).filter((bucket) => near(bucket) <= reach)
    .sort((a, b) => near(a) - near(b))[0] ?? null;
}
