// Failed jobs, grouped by selector and reason: how many, since when, and what to do about them.

import { bulkButtons, openBulk } from "./bulk.js";
import { commandLine } from "./dialog.js";
import { fill, h, isSelected } from "./dom.js";
import { fault, jobLink, momentLabel, nothing, table } from "./parts.js";
import { link } from "./router.js";
import { workerctl } from "./shell.js";
import { count, cut, shown } from "./text.js";

const refreshPause = 3_000;

/** The view `#/failures`. */
export class FailuresView {
  title = "Failures";
  #context;
  #body = h("div.rows");
  #groups = [];
  #failed = null;
  #loadedAt = -Infinity;
  #isLoading = false;

  constructor(context) {
    this.#context = context;
    this.element = h("section.failures", {}, h("h2", {}, "Failures"), this.#body,
      commandLine(workerctl("jobs", "--state", "failed", "--failures")));
  }

  opened() {
    this.#load();
  }

  closed() {}

  /** Asked for anew when the server has counted another failure. */
  changed(change) {
    if (change === null) this.#failed = null;
    this.ticked();
  }

  ticked() {
    const { failed, retried } = this.#context.live.state.counts;
    const isOld = `${failed} ${retried}` !== this.#failed;
    if (isSelected(this.#body)) return;
    if (isOld && performance.now() - this.#loadedAt > refreshPause) this.#load();
  }

  actionsOf(row) {
    const group = this.#groups[Number(row.dataset.row)];
    if (!group) return {};
    const run = (action) => ({ roles: ["operate"], open: () => this.#open(action, group) });
    return { r: run("retry"), x: run("drop") };
  }

  #open(action, group) {
    openBulk(this.#context, action, conditions(group), () => this.#load());
  }

  async #load() {
    if (this.#isLoading) return;
    this.#isLoading = true;
    const { failed, retried } = this.#context.live.state.counts;
    this.#failed = `${failed} ${retried}`;
    try {
      const { groups } = await this.#context.api.get("/api/failures");
      this.#groups = groups;
      this.#show();
    } catch (error) {
      if (error.isAbsent) this.#context.hide("failures");
      fill(this.#body, fault(error));
    }
    this.#isLoading = false;
    this.#loadedAt = performance.now();
  }

  #show() {
    const now = this.#context.live.state.now();
    const focused = document.activeElement?.closest?.("[data-row]")?.dataset.row;
    fill(this.#body, this.#groups.length === 0 ? nothing("No failed job is kept.") : table(
      "Failures",
      ["Selector", "Reason", { title: "Count", class: "number" }, "First", "Last", "Newest", ""],
      this.#groups.map((group, index) => this.#row(group, index, now))));
    if (focused !== undefined) this.#body.querySelector(`[data-row="${focused}"] a`)?.focus();
  }

  #row(group, index, now) {
    const reason = group.failure ?? group.reason;
    const name = group.selector ?? "others";
    return h("tr", { "data-row": index },
      h("td", {}, h("a", { href: link("jobs", null, { ...conditions(group) }) }, name)),
      h("td.long", { title: shown(reason) }, reason === null || reason === undefined
        ? h("span.none", {}, "not shown") : cut(shown(reason), 120)),
      h("td.number", {}, count(group.count)), h("td", {}, momentLabel(group.first, now)),
      h("td", {}, momentLabel(group.last, now)), h("td.number", {}, jobLink(group.newest)),
      h("td.actions", {}, group.selector === null ? null
        : bulkButtonsOf(this.#context, group, (action) => this.#open(action, group))));
  }
}

function bulkButtonsOf(context, group, open) {
  if (bulkButtons(context, { state: "failed" }) === null) return null;
  return [["retry", "Retry", ""], ["drop", "Drop", ".grave"]].map(([action, word, kind]) => h(
    `button${kind}`, {
      type: "button", onclick: () => open(action),
      "aria-label": `${word} ${count(group.count)} of ${group.selector}`,
    }, `${word} …`));
}

function conditions({ selector, reason }) {
  return { state: "failed", ...(selector ? { selector } : {}), ...(reason ? { reason } : {}) };
}
