// A job's story: from its acceptance to its end, with why it waits, its attempts and their output.

import { jobActions } from "./actions.js";
import { path } from "./api.js";
import { bytesOf, bytesOnDemand, bytesView, readFirstBytes } from "./bytes.js";
import { commandLine } from "./dialog.js";
import { fill, h, morph, show } from "./dom.js";
import { actionButton, fault, momentLabel, nothing, stateLabel, threadLink } from "./parts.js";
import { workerctl } from "./shell.js";
import { duration, shown, size } from "./text.js";
import { placeInQueue, waitingReasons, waitingSentence } from "./waiting.js";

const ended = new Set(["done", "failed", "cancelled", "expired"]);
/** A job that has not ended is asked for at most so often, and its place in the queue too. */
const refreshPause = 1_000;
const placePause = 5_000;

/** What the head and the story tell; all else stands in the details. */
const toldInStory = new Set([
  "id", "thread", "selector", "state", "failure", "last-failure", "progress", "progress-text",
  "accepted-at", "started-at", "ended-at", "due-at", "worker", "held-by", "held-until", "waits-for",
  "payload-bytes",
]);

/** The view `#/jobs/NUMBER`. */
export class JobView {
  #context;
  #id;
  #job = null;
  #place = null;
  #placeAt = -Infinity;
  #loadedAt = -Infinity;
  #isLoading = false;
  #head = h("div.head");
  #progress = h("div.progress");
  #story = h("ol.story");
  #details = h("dl.facts");
  #outputs = h("div.outputs");
  #outputsOf = "";
  #bytes = h("div");
  #bytesOf = "";
  #said = "";
  #notice = h("div");

  constructor(context, place) {
    this.#context = context;
    this.#id = place.name;
    this.title = `Job ${place.name}`;
    this.element = h("article.job", { "data-row": place.name },
      this.#notice, this.#head, this.#progress, this.#story, this.#bytes, this.#outputs,
      h("h3", {}, "Details"), this.#details, commandLine(workerctl("job", place.name)));
  }

  opened() {
    this.#load();
  }

  closed() {}

  /** A change of its thread or of the counts may be one of the job. */
  changed(change) {
    const job = this.#job;
    if (job && ended.has(job.state) && change !== null) return;
    const { state } = this.#context.live;
    const concerns = change === null || !job || change?.hasCounts
      || change?.pools.includes(job.thread)
      || change?.threads.some(
        (name) => name === job.thread || state.threads.get(name)?.pool === job.thread);
    if (concerns) this.#load();
  }

  ticked() {
    if (this.#job) this.#show();
  }

  actionsOf() {
    return this.#job ? jobActions(this.#context.api, this.#job) : {};
  }

  acted() {
    this.#loadedAt = -Infinity;
    this.#load();
  }

  async #load() {
    if (this.#isLoading || performance.now() - this.#loadedAt < refreshPause) return;
    this.#isLoading = true;
    const { api } = this.#context;
    try {
      const job = await api.get(path("/api/jobs", this.#id));
      if (job.state === "waiting" && performance.now() - this.#placeAt > placePause) {
        this.#place = await placeInQueue(api, job).catch(() => null);
        this.#placeAt = performance.now();
      }
      this.#job = job;
      fill(this.#notice);
      this.#show();
    } catch (error) {
      fill(this.#notice, this.#job ? fault(error) : [h("h2", {}, this.title), fault(error)]);
      // The view of a job that is forgotten meanwhile stays on the page.
      if (this.#job) this.#job = { ...this.#job };
    }
    this.#isLoading = false;
    this.#loadedAt = performance.now();
  }

  #show() {
    const job = this.#job;
    const running = this.#context.live.state.threads.get(job.worker)?.job;
    const progress = running?.id === job.id ? running : job;
    this.#showProgress(progress);
    this.#showStory();
    const key = JSON.stringify([job.state, job.attempt]);
    if (key !== this.#said) {
      this.#said = key;
      this.#showHead();
      this.#showBytes();
      this.#showOutputs();
    }
    this.#showDetails();
  }

  #showHead() {
    const job = this.#job;
    const actions = jobActions(this.#context.api, job);
    const label = { x: job.state === "failed" ? "Drop" : "Cancel", r: "Retry" };
    fill(this.#head, h("h2", {}, `Job ${job.id}`), stateLabel(job.state),
      h("span.about", {}, job.selector, " on ", threadLink(job.thread)),
      Object.entries(actions).map(([key, action]) => actionButton(
        this.#context, action, label[key], () => this.acted())));
  }

  #showProgress({ progress, "progress-text": text }) {
    const isShown = progress !== null && progress !== undefined || Boolean(text);
    show(this.#progress, isShown && !ended.has(this.#job.state));
    if (!isShown) return;
    fill(this.#progress,
      h("progress", { max: 1, value: progress ?? null, "aria-label": "Progress" }),
      h("span", {}, progress === null || progress === undefined ? ""
        : `${Math.round(100 * progress)} % `, shown(text)));
  }

  #showStory() {
    const job = this.#job;
    const { state } = this.#context.live;
    const now = state.now();
    const priority = job.priority === "normal" ? "" : `with ${job.priority} priority `;
    const payload = ended.has(job.state) ? "" : `${size(job["payload-bytes"])} of payload`;
    const steps = [step(job["accepted-at"], "Accepted", now, priority + payload)];
    const due = job["due-at"];
    if (due !== null && due !== undefined && (job.state === "delayed" || job.attempt <= 1)) {
      steps.push(step(due, job.state === "delayed" ? "Due" : "Was due", now));
    }
    if (job.attempt > 1 || (job.attempt === 1 && job.state === "delayed")) {
      const before = ended.has(job.state) || job.state === "running" || job.state === "stuck"
        ? job.attempt - 1 : job.attempt;
      const times = before === 1 ? "Attempt 1 did not succeed"
        : `Attempts 1 to ${before} did not succeed`;
      steps.push(step(null, times, now, job["last-failure"] ? shown(job["last-failure"]) : ""));
    }
    const reasons = waitingReasons(job, state, this.#place);
    const waits = { waiting: "Waits", delayed: "Delayed", buffered: "Buffered" }[job.state];
    if (reasons) {
      steps.push(h("li.present", {}, h("span.when", {}, "now"),
        h("span.step", {}, h("b", {}, waits), ": ", waitingSentence(reasons))));
    }
    const hasBegun = job["started-at"] !== null && !waits;
    if (hasBegun) {
      const isOn = !ended.has(job.state);
      steps.push(step(job["started-at"], `Attempt ${job.attempt} began`, now,
        [job.worker ? ["on ", threadLink(job.worker)] : "",
          isOn ? `, runs for ${duration(now - job["started-at"])}` : ""]));
    }
    if (job["ended-at"] !== null && job["ended-at"] !== undefined) {
      const ran = hasBegun ? ` after ${duration(job["ended-at"] - job["started-at"])}` : "";
      steps.push(step(job["ended-at"], endWord(job) + ran, now, shown(job.failure)));
    }
    morph(this.#story, steps);
  }

  #showDetails() {
    const job = this.#job;
    const facts = [];
    const add = (name, value) => {
      if (value === null || value === undefined || value === "") return;
      facts.push([h("dt", {}, name), h("dd", {}, value)]);
    };
    for (const [name, value] of Object.entries(job)) {
      if (toldInStory.has(name)) continue;
      if (name.endsWith("-at")) add(name, momentLabel(value, this.#context.live.state.now()));
      else if (Array.isArray(value)) add(name, value.map(shown).join(" "));
      else add(name, shown(value));
    }
    morph(this.#details, facts);
  }

  /** Buttons for the payload and the result, which are fetched when they are asked for. */
  #showBytes() {
    const { api, session } = this.#context;
    const job = this.#job;
    const hasPayload = !ended.has(job.state) || job.state === "failed";
    const key = `${hasPayload} ${job.state === "done"}`;
    if (key === this.#bytesOf) return;
    this.#bytesOf = key;
    const base = path("/api/jobs", this.#id);
    const fetchBytes = (what, title) => async () => {
      const { bytes, isAll } = await readFirstBytes(await api.open(`${base}/${what}`), what);
      // The size of a payload is told until its job has ended, that of a result never.
      const told = what === "payload" ? this.#job["payload-bytes"] || null : null;
      return bytesView(title, bytes, isAll ? bytes.length : told);
    };
    if (!session.mayReadPayloads) {
      return fill(this.#bytes, nothing("You may not see payloads and results."));
    }
    const button = (what, title) => bytesOnDemand(`Show the ${what}`, fetchBytes(what, title));
    fill(this.#bytes, hasPayload ? button("payload", "Payload") : null,
      job.state === "done" ? button("result", "Result") : null);
  }

  /** The output of each attempt of which some is kept. */
  async #showOutputs() {
    const { api, session } = this.#context;
    const job = this.#job;
    const key = `${job.state} ${job.attempt}`;
    if (!session.mayReadPayloads || job.attempt === 0 || key === this.#outputsOf) return;
    this.#outputsOf = key;
    const base = path("/api/jobs", this.#id, "output");
    const { output } = await api.get(base).catch(() => ({ output: null }));
    if (!output) return fill(this.#outputs);
    const attempts = output.attempts.toReversed();
    fill(this.#outputs, h("h3", {}, "Output"), attempts.map((attempt) => h("div.output", {},
      h("h4", {}, `Attempt ${attempt}`),
      attempt === output.attempt && ended.has(job.state) ? outputViews(output)
        : bytesOnDemand(`Show what attempt ${attempt} has written`, async () =>
          outputViews((await api.get(base, { attempt })).output)))));
  }
}

function outputViews(output) {
  if (!output) return nothing("Nothing of it is kept.");
  const views = [["Standard output", "output"], ["Standard error", "errors"]].filter(
    ([, name]) => output[`${name}-bytes`] > 0 && bytesOf(output[name]).length > 0);
  if (views.length === 0) return nothing("It has written nothing.");
  return h("div", {}, views.map(
    ([title, name]) => bytesView(title, bytesOf(output[name]), output[`${name}-bytes`])));
}

function endWord(job) {
  const words = { done: "Done", failed: "Failed", cancelled: "Cancelled", expired: "Expired" };
  return words[job.state] ?? "Ended";
}

function step(moment, title, now, more = "") {
  return h("li", {}, h("span.when", {}, moment === null ? "" : momentLabel(moment, now)),
    h("span.step", {}, h("b", {}, title), more === "" ? "" : " ", more));
}
