// Workers: the processes that take jobs, and the selectors that wait for one. If the jobs are in a
// database, also nodes: the daemons that share it.

import { commandLine } from "./dialog.js";
import { fill, h, morph, show } from "./dom.js";
import { fault, jobLink, momentLabel, nothing, pageLink, stateLabel, table } from "./parts.js";
import { workerctl } from "./shell.js";
import { count, duration, plain, shown } from "./text.js";

const refreshPause = 3_000;

/** The view `#/workers`. */
export class WorkersView {
  title = "Workers";
  #context;
  #nodes = h("div.rows");
  #nodesMoment = h("span.aside");
  #nodesPart = h("div.nodes", { hidden: true },
    h("h2", {}, "Nodes"), this.#nodes,
    h("p.again", {},
      h("button", { type: "button", onclick: () => this.#loadNodes() }, "Look again"),
      this.#nodesMoment),
    commandLine(workerctl("nodes")));
  #isLoadingNodes = false;
  #workers = h("div.rows");
  #selectors = h("div.rows");
  #loadedAt = -Infinity;
  #isLoading = false;
  #isStale = false;

  constructor(context) {
    this.#context = context;
    this.element = h("section.workers", {},
      this.#nodesPart,
      h("h2", {}, "Workers"), this.#workers, commandLine(workerctl("workers")),
      h("h2", {}, "Selectors"), this.#selectors, commandLine(workerctl("selectors")));
  }

  opened() {
    this.#load();
    // The first snapshot does so, too.
    if (this.#context.live.state.time > 0) this.#loadNodes();
  }

  closed() {}

  /** Workers come and go with jobs: asked for anew when jobs have moved. */
  changed(change) {
    if (change !== undefined) this.#isStale = true;
    // A new connection: another node may serve.
    if (change === null) this.#loadNodes();
    this.ticked();
  }

  ticked() {
    if (this.#isStale && performance.now() - this.#loadedAt > refreshPause) this.#load();
  }

  async #load() {
    if (this.#isLoading) return;
    this.#isLoading = true;
    this.#isStale = false;
    const { api } = this.#context;
    try {
      const [{ workers }, { selectors }] = await Promise.all(
        [api.get("/api/workers"), api.get("/api/selectors")]);
      this.#showWorkers(workers);
      this.#showSelectors(selectors);
    } catch (error) {
      fill(this.#workers, fault(error));
    }
    this.#isLoading = false;
    this.#loadedAt = performance.now();
  }

  /** The stream does not tell of nodes: the button loads them again. */
  async #loadNodes() {
    if (this.#isLoadingNodes) return;
    this.#isLoadingNodes = true;
    try {
      const { nodes } = await this.#context.api.get("/api/nodes");
      show(this.#nodesPart, nodes.some(sharesStore));
      this.#showNodes(nodes);
    } catch (error) {
      // Only a database can be away.
      if (error.word === "BUSY") show(this.#nodesPart, true);
      fill(this.#nodes, fault(error));
      fill(this.#nodesMoment);
    }
    this.#isLoadingNodes = false;
  }

  #showNodes(nodes) {
    const now = this.#context.live.state.now();
    fill(this.#nodesMoment, "as of ", momentLabel(now, now));
    morph(this.#nodes, table(
      "Nodes", ["Node", "State", "Trusted", "Since", "Address", "HTTP", "Threads"],
      nodes.map((node) => h("tr", {},
        h("th", { scope: "row" }, shown(node.name)), h("td", {}, stateLabel(node.state)),
        h("td", {}, trustOf(node)), h("td", {}, momentLabel(node.since, now)),
        h("td", {}, shown(node.address) || "–", linkFault(node)), h("td", {}, pageLink(node.http)),
        h("td.long", {}, node.threads?.join(", ") || "–")))));
  }

  #showWorkers(workers) {
    const now = this.#context.live.state.now();
    morph(this.#workers, workers.length === 0 ? nothing("No other process serves jobs.") : table(
      "Workers", ["Worker", "Serves", "Jobs", "Owns", "Since", "Process"],
      workers.map((worker) => h("tr", {},
        h("th", { scope: "row" }, nameOf(worker)),
        h("td", {}, worker.selectors.join(", ")),
        h("td", {}, worker.jobs.length === 0 ? "–"
          : worker.jobs.map((id, index) => [index > 0 ? " " : "", jobLink(id)])),
        h("td", {}, worker.owns.length === 0 ? "–" : worker.owns.join(", ")),
        h("td", {}, momentLabel(worker.since, now)), h("td", {}, processOf(worker))))));
  }

  #showSelectors(selectors) {
    const { state } = this.#context.live;
    morph(this.#selectors, table(
      "Selectors", ["Selector", "Handler", { title: "Workers", class: "number" },
        { title: "Usual time", class: "number" }],
      selectors.map((selector) => h("tr", {},
        h("th", { scope: "row" }, selector.name), h("td.long", {}, shown(selector.handler)),
        h("td.number", {}, selector.workers === undefined ? "–"
          : selector.workers === 0 ? h("b.warn", {}, "none") : count(selector.workers)),
        h("td.number", {}, usual(state.selectors.get(selector.name)?.run))))));
  }
}

/** Whether the jobs are in a database, which other daemons may share. */
function sharesStore({ state, epoch, threads }) {
  return state === "waits" || epoch !== null || threads !== undefined;
}

/** Why this node does not reach another one. */
function linkFault({ link }) {
  return link === undefined || link === null || link === "ok" ? null
    : h("b.warn", {}, ` not reached: ${shown(link)}`);
}

function trustOf({ trusted }) {
  if (trusted === null) return "–";
  return trusted ? "yes" : h("b.warn", {}, "no: no kept job begins");
}

function nameOf({ name, client }) {
  if (name) return plain(name);
  return client === null ? "unknown" : `client ${client}`;
}

function processOf({ connected, pid }) {
  if (!connected) return "connection closed";
  return pid === null ? "over TCP" : `pid ${pid}`;
}

function usual(run) {
  if (!run) return "–";
  const text = (value) => value === null ? "> 3 h" : duration(value);
  return `p50 ≤ ${text(run.p50)}, p99 ≤ ${text(run.p99)}`;
}
