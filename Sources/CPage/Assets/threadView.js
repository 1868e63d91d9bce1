// One thread or pool: its present work, its waiting jobs, and how long things take.

import { pauseAction } from "./actions.js";
import { path } from "./api.js";
import { commandLine } from "./dialog.js";
import { fill, h, morph } from "./dom.js";
import { Lane } from "./lane.js";
import { laneRows, poolView, threadView } from "./laneRows.js";
import {
  actionButton, distance, fault, jobLink, nothing, pageLink, stateLabel, threadLink,
} from "./parts.js";
import { link } from "./router.js";
import { workerctl } from "./shell.js";
import { age, count, duration, plain } from "./text.js";

/** A stuck thread has a second to say where it is; the server is asked so often at most. */
const stackPause = 2_000;
const stackTriesMax = 3;

/** The view `#/threads/NAME`. */
export class ThreadView {
  #context;
  #name;
  #lanes = [];
  #head = h("div.head");
  #list = h("ul.lanes.alone");
  #facts = h("dl.facts");
  #times = h("div");
  #stack = h("div");
  #said = "";
  #timesSaid = "";
  #stackOf = null;
  #stackTries = 0;
  #stackAt = -Infinity;

  constructor(context, place) {
    this.#context = context;
    this.#name = place.name;
    this.title = place.name;
    this.element = h("article.thread", { "data-row": place.name },
      this.#head, this.#list, h("div.columns", {},
        h("section", {}, h("h3", {}, "Now"), this.#facts),
        h("section", {}, h("h3", {}, "Times"), this.#times)),
      this.#stack, h("p.more-links", {},
        jobsLink("Waiting jobs", { thread: place.name, state: "waiting", order: "oldest" }), " · ",
        jobsLink("Failed jobs", { thread: place.name, state: "failed" }), " · ",
        jobsLink("All jobs", { thread: place.name })),
      commandLine(workerctl("thread", place.name)));
  }

  opened() {
    this.changed(null);
  }

  closed() {}

  changed() {
    this.ticked();
  }

  actionsOf() {
    const view = this.#view();
    return view && view.node === undefined ? { p: this.#pauseAction(view) } : {};
  }

  #pauseAction(view) {
    return pauseAction(
      this.#context.api, this.#name, view.state === "paused" || view.state === "pausing");
  }

  #view() {
    const { state } = this.#context.live;
    const thread = state.threads.get(this.#name);
    if (thread) return threadView(thread, state);
    const pool = state.pools.get(this.#name);
    return pool ? poolView(pool, state.threadsOf(pool.name), state) : null;
  }

  ticked() {
    const { live } = this.#context;
    if (live.freshness === "connecting") return;
    const view = this.#view();
    if (!view) {
      fill(this.#head, h("h2", {}, this.#name),
        nothing("There is no such thread. It may have been taken out of the configuration."));
      return;
    }
    this.#showHead(view);
    this.#drawLanes(view);
    this.#showFacts(view, live.state.now());
    this.#showTimes(view);
    this.#showStack(view);
  }

  #showHead(view) {
    const key = `${view.state} ${view.members?.all} ${view.node?.http}`;
    if (this.#said === key) return;
    this.#said = key;
    const isPaused = view.state === "paused" || view.state === "pausing";
    fill(
      this.#head, h("h2", {}, this.#name), stateLabel(view.state),
      view.node === undefined
        ? actionButton(this.#context, this.#pauseAction(view), isPaused ? "Resume" : "Pause")
        : pageLink(view.node?.http, link("threads", this.#name)));
  }

  #drawLanes(view) {
    const { state } = this.#context.live;
    if (this.#lanes.length === 0) {
      const rows = view.members
        ? laneRows(state, [], "", new Set([this.#name])).filter(
          (row) => row.name === this.#name || state.threads.get(row.name)?.pool === this.#name)
        : [{ name: this.#name, isPool: false, view: () => this.#view() }];
      this.#lanes = rows.map((row) => Object.assign(new Lane(row.name, row.isPool), { row }));
      fill(this.#list, this.#lanes.map((lane) => lane.element));
    }
    for (const lane of this.#lanes) {
      const width = lane.element.querySelector(".track")?.clientWidth ?? 0;
      const scale = { width: Math.max(60, width), now: state.now(), timeline: state.timeline };
      lane.update(lane.row.view(), scale);
      // The first drawing makes the place whose width the second one has.
      const real = lane.element.querySelector(".track").clientWidth;
      if (real !== width && real > 0) lane.update(lane.row.view(), { ...scale, width: real });
    }
  }

  #showFacts(view, now) {
    const { job, held, awaits } = view;
    const { state } = this.#context.live;
    const row = state.threads.get(this.#name);
    const pool = view.pool ?? state.pools.get(row?.pool);
    const facts = [];
    if (job) {
      facts.push(["Runs", [jobLink(job.id, `job ${job.id}`),
        ` ${plain(job.selector)}, for ${duration(now - job.since)}`]]);
    }
    if (held) {
      const until = held.until ? `, tried again ${distance(held.until, now)}` : "";
      facts.push(["Held up by", [jobLink(held.job, `job ${held.job}`), until]]);
    }
    if (awaits) {
      facts.push(["No worker",
        [jobLink(awaits.job, `job ${awaits.job}`), ` needs ${awaits.selector}`]]);
    }
    if (row && pool && pool.name !== row.name) facts.push(["Pool", threadLink(pool.name)]);
    if (pool) {
      facts.push(["Waiting", `${count(pool.waiting)} of at most ${count(pool["max-queued"])}`]);
      if (pool.waiting > 0 && pool.oldest !== undefined) {
        facts.push(["Oldest waits", age(now - pool.oldest)]);
      }
      if (pool.delayed > 0) facts.push(["Delayed", count(pool.delayed)]);
      if (pool.held > 0) facts.push(["Held up", count(pool.held)]);
    }
    if (row) facts.push(["Attempts", `${count(row.done)} done, ${count(row.failed)} failed`]);
    morph(this.#facts, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  #showTimes(view) {
    const { state } = this.#context.live;
    const pool = view.pool ?? state.pools.get(state.threads.get(this.#name)?.pool);
    const rows = [...state.selectors.values()].filter((selector) => selector.run)
      .map((selector) => [selector.name, selector.run]);
    const key = JSON.stringify([pool?.wait, rows]);
    if (key === this.#timesSaid) return;
    this.#timesSaid = key;
    const line = (name, figures) => h("tr", {}, h("th", { scope: "row" }, name),
      h("td.number", {}, atMost(figures.p50)), h("td.number", {}, atMost(figures.p99)),
      h("td.number", {}, count(figures.count)));
    fill(this.#times, pool?.wait || rows.length > 0
      ? h("table.times", {},
        h("thead", {}, h("tr", {}, ["", "p50", "p99", "count"].map(
          (word) => h("th", { scope: "col", class: word === "" ? null : "number" }, word)))),
        h("tbody", {},
          pool?.wait ? line("wait", pool.wait) : null,
          rows.map(([name, run]) => line(`run ${name}`, run))))
      : nothing("No job has run yet."));
  }

  /** Asks where a stuck thread hangs; once more if the server did not know yet. */
  async #showStack(view) {
    const stuck = view.state === "stuck" && view.job ? view.job.id : null;
    if (stuck !== this.#stackOf) {
      this.#stackOf = stuck;
      this.#stackTries = 0;
      fill(this.#stack);
    }
    const isTime = performance.now() - this.#stackAt > stackPause;
    if (stuck === null || this.#stackTries >= stackTriesMax || !isTime) return;
    this.#stackTries += 1;
    this.#stackAt = performance.now();
    try {
      const { "hangs-at": places } = await this.#context.api.get(path("/api/threads", this.#name));
      if (places) this.#stackTries = stackTriesMax;
      fill(this.#stack, h("h3", {}, "Where it hangs"), places
        ? h("pre.text", { tabindex: "0", role: "region", "aria-label": "Where it hangs" },
          places.map(plain).join("\n"))
        : nothing("It does not say, or has not said yet."));
    } catch (error) {
      fill(this.#stack, fault(error));
    }
  }
}

function jobsLink(text, query) {
  return h("a", { href: link("jobs", null, query) }, text);
}

function atMost(milliseconds) {
  return milliseconds === null ? "> 3 h" : `≤ ${duration(milliseconds)}`;
}
