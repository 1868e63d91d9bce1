// Schedules: what makes jobs, when next, and which moment has passed without one.

import { commandLine } from "./dialog.js";
import { fill, h, morph } from "./dom.js";
import { distance, fault, jobLink, momentLabel, nothing, table, threadLink } from "./parts.js";
import { workerctl } from "./shell.js";
import { count, duration } from "./text.js";

/** A moment counts as missed when it has passed so long ago. */
const lateMin = 5_000;
const refreshPause = 2_000;
/** While one is late, all are asked for more seldom. */
const latePause = 15_000;
const missedWords = {
  once: "made up once", all: "each made up", none: "left out",
};

/** The view `#/schedules`. */
export class SchedulesView {
  title = "Schedules";
  #context;
  #body = h("div.rows");
  #schedules = [];
  #loadedAt = -Infinity;
  #isLoading = false;

  constructor(context) {
    this.#context = context;
    this.element = h("section.schedules", {}, h("h2", {}, "Schedules"), this.#body,
      commandLine(workerctl("schedules")));
  }

  opened() {
    this.#load();
  }

  closed() {}

  changed(change) {
    if (change === null) this.#load();
  }

  /** A schedule is asked for anew when its moment has passed, not before. */
  ticked() {
    const now = this.#context.live.state.now();
    const hasPassed = (moment) => this.#schedules.some(
      ({ "next-due-at": next }) => next !== null && next < moment);
    const pause = hasPassed(now - lateMin) ? latePause : refreshPause;
    if (hasPassed(now - 500) && performance.now() - this.#loadedAt > pause) this.#load();
    else this.#show();
  }

  async #load() {
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      this.#schedules = (await this.#context.api.get("/api/schedules")).schedules;
      this.#show();
    } catch (error) {
      fill(this.#body, fault(error));
    }
    this.#isLoading = false;
    this.#loadedAt = performance.now();
  }

  #show() {
    const now = this.#context.live.state.now();
    morph(this.#body, this.#schedules.length === 0 ? nothing("There is no schedule.") : table(
      "Schedules",
      ["Schedule", "Rhythm", "Thread", "Selector", "Next", "Last", "Missed runs", "From"],
      this.#schedules.map((schedule) => row(schedule, now))));
  }
}

function row(schedule, now) {
  const [next, lastJob] = [schedule["next-due-at"], schedule["last-job"]];
  const isLate = next !== null && next < now - lateMin;
  return h(`tr${isLate ? ".late" : ""}`, { "data-row": schedule.name },
    h("th", { scope: "row", tabindex: "0" }, schedule.name), h("td", {}, rhythm(schedule)),
    h("td", {}, threadLink(schedule.thread)), h("td", {}, schedule.selector),
    h("td", {}, momentLabel(next, now), next === null ? "" : h("span.aside", {},
      isLate ? ` missed ${distance(next, now)}` : ` ${distance(next, now)}`)),
    h("td", {}, momentLabel(schedule["last-run-at"], now),
      lastJob === null ? "" : [" ", jobLink(lastJob, `job ${lastJob}`)]),
    h("td", {}, missedWords[schedule.missed] ?? schedule.missed, leftOut(schedule, now)),
    h("td", {}, schedule.from));
}

/** The moments that had no job of their own. */
function leftOut(schedule, now) {
  if (!schedule["left-out"]) return "";
  return h("span.aside", {}, ` ${count(schedule["left-out"])} without a job, the last `,
    momentLabel(schedule["left-out-at"], now));
}

function rhythm(schedule) {
  if (schedule["every-ms"] !== null) return `every ${duration(schedule["every-ms"])}`;
  return h("span", {}, h("code", {}, schedule.cron), ` ${schedule.zone ?? "UTC"}`);
}
