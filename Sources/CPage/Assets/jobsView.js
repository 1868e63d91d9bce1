// Jobs as a table: by state and filters, which the address holds, page after page without an end.

import { jobActions } from "./actions.js";
import { bulkButtons } from "./bulk.js";
import { commandLine } from "./dialog.js";
import { fill, h, isSelected } from "./dom.js";
import { fillForm, filterForm, filtersOf, listLine, serverFilters, tabs } from "./jobFilters.js";
import { fault, jobLink, momentLabel, nothing, stateLabel, table, threadLink } from "./parts.js";
import { go, link } from "./router.js";
import { counted, cut, shown } from "./text.js";

const pageSize = 50;
/** The table follows the server's changes at most so often. */
const refreshPause = 2_000;

/** The view `#/jobs`. */
export class JobsView {
  title = "Jobs";
  #context;
  #query = {};
  #filters = {};
  #rows = new Map();
  #tabs = h("nav.tabs", { "aria-label": "States" });
  #reason = h("p.reason");
  #command = h("div");
  #body = h("div.rows");
  #bulk = h("div.bulk");
  #pager = h("p.pager");
  #form;
  #isStale = false;
  /** The number of the latest request: answers to earlier ones are ignored. */
  #asked = 0;
  #isLoading = false;
  #loadedAt = 0;

  constructor(context, place) {
    this.#context = context;
    const { state } = context.live;
    this.#form = filterForm(
      [...state.pools.keys()], [...state.selectors.keys()],
      (filters) => go(this.#address({ ...filters, before: null, after: null })));
    this.element = h("section.jobs", {}, h("h2.spoken", {}, "Jobs"), this.#tabs, this.#form,
      this.#reason, this.#bulk, this.#body, this.#pager, this.#command);
    this.moved(place);
  }

  /** Takes another address, without losing what is written into the form. */
  moved(place) {
    this.#query = place.query;
    this.#filters = filtersOf(place.query);
    this.#showTabs();
    fillForm(this.#form, place.query);
    this.#showReason();
    this.#showCommand();
    this.#load();
    return true;
  }

  get #isOldestFirst() {
    return this.#query.order === "oldest";
  }

  #address(changes) {
    return link("jobs", null, { ...this.#query, ...changes });
  }

  #showTabs() {
    fill(this.#tabs, tabs.map(([state, word]) => h("a", {
      href: this.#address({ state, before: null, after: null, reason: null }),
      "aria-current": (this.#query.state ?? "") === state ? "page" : null,
    }, word)));
  }

  #showCommand() {
    try {
      fill(this.#command, commandLine(listLine(this.#filters, this.#isOldestFirst)));
    } catch {
      // The same fault is told where the rows would stand.
      fill(this.#command);
    }
  }

  #showReason() {
    const { reason } = this.#filters;
    fill(this.#reason, reason ? ["Failed because: ", h("q", {}, shown(reason)), " ",
      h("a", { href: this.#address({ reason: null }) }, "all reasons")] : null);
  }

  opened() {}

  closed() {}

  /** The first page follows the server; on others the reader is in the middle of something. */
  changed(change) {
    if (!(change === null || change?.hasCounts)) return;
    if (this.#query.before || this.#query.after) return;
    this.#isStale = true;
    this.ticked();
  }

  ticked() {
    if (!this.#isStale || this.#isLoading || isSelected(this.#body)) return;
    if (performance.now() - this.#loadedAt >= refreshPause) this.#load();
  }

  filterInput() {
    return this.#form.elements.thread;
  }

  actionsOf(row) {
    const job = this.#rows.get(Number(row.dataset.row));
    return job ? jobActions(this.#context.api, job) : {};
  }

  acted() {
    this.#load();
  }

  async #load() {
    this.#asked += 1;
    const asked = this.#asked;
    this.#isLoading = true;
    this.#isStale = false;
    try {
      const filters = serverFilters(this.#filters);
      const answer = await this.#context.api.get("/api/jobs", {
        ...filters, limit: pageSize, failures: filters.state === "failed" ? "true" : null,
        order: this.#query.order, before: this.#query.before, after: this.#query.after,
      });
      if (asked === this.#asked) this.#show(answer);
    } catch (error) {
      if (asked === this.#asked) {
        fill(this.#body, fault(error));
        fill(this.#pager);
        fill(this.#bulk);
      }
    }
    if (asked !== this.#asked) return;
    this.#isLoading = false;
    this.#loadedAt = performance.now();
  }

  #show({ jobs, next }) {
    this.#rows = new Map(jobs.map((job) => [job.id, job]));
    const focused = document.activeElement?.closest?.("[data-row]")?.dataset.row;
    const isFailed = this.#filters.state === "failed";
    fill(this.#body, jobs.length === 0 ? nothing("No job is like this.") : table(
      "Jobs",
      [{ title: "Job", class: "number" }, "Thread", "Selector", "State",
        { title: "Attempt", class: "number" }, isFailed ? "Reason" : "Last failure",
        ...(isFailed ? ["Ended"] : [])],
      jobs.map((job) => this.#row(job, isFailed))));
    if (focused !== undefined) {
      this.#body.querySelector(`[data-row="${CSS.escape(focused)}"] a`)?.focus();
    }
    this.#showPager(jobs, next);
    fill(this.#bulk, jobs.length === 0 ? null : bulkButtons(
      this.#context, this.#filters, () => this.#load()));
  }

  #row(job, isFailed) {
    const reason = shown(job.failure ?? job["last-failure"]);
    return h("tr", { "data-row": job.id },
      h("td.number", {}, jobLink(job.id)), h("td", {}, threadLink(job.thread)),
      h("td", {}, job.selector), h("td", {}, stateLabel(job.state)),
      h("td.number", {}, job.attempt || "–"),
      h("td.long", { title: reason.length > 80 ? reason : null }, cut(reason, 80)),
      isFailed
        ? h("td.number", {}, momentLabel(job["ended-at"], this.#context.live.state.now())) : null);
  }

  #showPager(jobs, next) {
    const isOldest = this.#isOldestFirst;
    const isFirst = !this.#query.before && !this.#query.after;
    const more = isOldest ? { after: next } : { before: next };
    fill(this.#pager,
      h("span", {}, isFirst ? (isOldest ? "The oldest first" : "The newest first")
        : `From job ${jobs[0]?.id ?? "–"} on`),
      isFirst ? null : h("a", { href: this.#address({ before: null, after: null }) }, "First page"),
      next === null ? null : h("a", { href: this.#address(more), rel: "next" },
        isOldest ? "Newer jobs" : "Older jobs"),
      h("a", {
        href: this.#address({ order: isOldest ? null : "oldest", before: null, after: null }),
      }, isOldest ? "Newest first" : "Oldest first"),
      h("span.shown", {}, `${counted(jobs.length, "job")} shown`));
  }
}
