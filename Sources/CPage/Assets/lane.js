// One thread as a lane: its name and state, its time line, and its figures in words.

import { h, setText, show } from "./dom.js";
import { Bucket } from "./liveState.js";
import { bucketAt, LaneDrawing, laneHeight, marks } from "./laneDrawing.js";
import { stateLabel } from "./parts.js";
import { go, link } from "./router.js";
import { age, count, counted, cut, duration, shown } from "./text.js";
import { moment } from "./time.js";

/** A row of the list of threads; it is drawn only while it can be seen. */
export class Lane {
  #drawing = null;
  #state = h("span");
  #stateName = "";
  #track = null;
  #job = h("p.job");
  #more = h("p.more");
  #row = null;

  /**
   * @param {string} name of the thread.
   * @param {boolean} isPool whether it stands for a whole pool of several threads.
   */
  constructor(name, isPool) {
    this.name = name;
    this.isPool = isPool;
    this.link = h("a.name", { href: link("threads", name) }, name);
    const kind = isPool ? ".pool" : name.includes("/") ? ".member" : "";
    this.element = h(`li.lane${kind}`, { "data-row": name });
    this.element.lane = this;
  }

  /** Makes the contents; before, the row is an empty place of the right height. */
  #furnish() {
    this.#drawing = new LaneDrawing();
    this.#track = h("div.track", {
      onclick: (event) => this.#open(event), onmousemove: (event) => this.#tell(event),
    }, this.#drawing.element);
    this.#track.style.minHeight = `${laneHeight}px`;
    this.element.append(
      h("div.who", {}, this.link, this.#state), this.#track,
      h("div.what", {}, this.#job, this.#more));
  }

  /** Shows a row of the server's state. */
  update(view, scale) {
    if (this.#drawing === null) this.#furnish();
    this.#row = view;
    this.#scale = scale;
    if (this.#stateName !== view.state) {
      this.#stateName = view.state;
      const label = stateLabel(view.state);
      this.#state.replaceWith(label);
      this.#state = label;
      this.element.dataset.state = view.state;
    }
    this.element.dataset.rank = view.rank;
    this.#drawing.draw(view, scale, view.usual);
    this.#showWords(view, scale.now);
  }
  #scale = null;

  #showWords({ job, usual, pool, members, held, awaits, failures, node }, now) {
    if (node !== undefined) {
      setText(this.#job, nodeText(node));
    } else if (job) {
      const usually = usual === null || usual === undefined ? "" : ` · usually ≤ ${age(usual)}`;
      setText(this.#job, `${job.selector} ${age(now - job.since)}${usually}${progressText(job)}`);
      this.#job.title = `job ${job.id}, ${duration(now - job.since)}`;
    } else if (held) {
      setText(this.#job, `held up by job ${held.job}`);
    } else if (awaits) {
      setText(this.#job, `no worker for ${awaits.selector}`);
    } else {
      setText(this.#job, members
        ? `${count(members.busy)} of ${counted(members.all, "thread")} at work` : "");
    }
    show(this.#job, this.#job.textContent !== "");
    const parts = [];
    if (pool && node === undefined) {
      parts.push(pool.waiting > 0 ? `${count(pool.waiting)} waiting` : "nothing waits");
      if (pool.oldest !== undefined && pool.waiting > 0) {
        parts.push(`oldest ${age(now - pool.oldest)}`);
      }
      if (pool.held > 0 && !held) parts.push(`${count(pool.held)} held up`);
      if (pool.awaiting > 0 && !awaits) parts.push(`${count(pool.awaiting)} without a worker`);
      if (pool.delayed > 0) parts.push(`${count(pool.delayed)} delayed`);
      if (pool.slots) parts.push(`${pool.slots[0]} of ${pool.slots[1]} slots here`);
    }
    if (failures > 0) parts.push(`${count(failures)} failed`);
    setText(this.#more, parts.join(" · "));
    show(this.#more, parts.length > 0);
  }

  /** Opens the running job, or the longest job of the bucket under the pointer. */
  #open(event) {
    const job = this.#jobAt(event.offsetX);
    if (job) go(link("jobs", job));
  }

  #jobAt(x) {
    const { job, buckets } = this.#row;
    const span = this.#scale.timeline.bucket * this.#scale.timeline.count;
    const begin = job ? this.#scale.width * (1 - (this.#scale.now - job.since) / span) : Infinity;
    const bucket = bucketAt(buckets, x, this.#scale);
    if (job && x >= Math.min(begin, this.#scale.width - 8) - 2) return job.id;
    return bucket?.[Bucket.longestJob] || null;
  }

  #tell(event) {
    const bucket = bucketAt(this.#row.buckets, event.offsetX, this.#scale);
    const job = this.#jobAt(event.offsetX);
    this.#track.style.cursor = job ? "pointer" : "default";
    const text = bucket === null ? "" : bucketText(bucket, this.#scale.timeline);
    if (this.#track.title !== text) this.#track.title = text;
  }
}

/** The place of a thread that another node has; null if none has it. */
function nodeText(node) {
  return node === null ? "no node has it yet" : `at node ${shown(node.name)}`;
}

function progressText(job) {
  const parts = [];
  if (job.progress !== undefined) parts.push(`${Math.round(100 * job.progress)} %`);
  if (job["progress-text"]) parts.push(cut(shown(job["progress-text"]), 40));
  return parts.length === 0 ? "" : ` · ${parts.join(" ")}`;
}

/** What happened in a bucket, in words. */
export function bucketText(bucket, timeline) {
  const parts = [];
  if (bucket[Bucket.done] > 0) parts.push(`${count(bucket[Bucket.done])} done`);
  for (const { word, place } of marks) {
    if (bucket[place] > 0) parts.push(`${count(bucket[place])} ${word}`);
  }
  const job = bucket[Bucket.longestJob];
  const longest = job === 0 ? ""
    : `; longest: job ${job}, ${duration(bucket[Bucket.longestMilliseconds])}`;
  return `${moment(bucket[Bucket.number] * timeline.bucket)}: ${parts.join(", ")}${longest}`;
}
