// Operations: who changed what, through which door, and what the server answered.

import { fill, h } from "./dom.js";
import { fault, momentLabel, nothing, table } from "./parts.js";
import { shown } from "./text.js";

/** The view `#/log`. */
export class LogView {
  title = "Log";
  #context;
  #body = h("div.rows");

  constructor(context) {
    this.#context = context;
    this.element = h("section.log", {}, h("h2", {}, "What operators did"), this.#body,
      h("p", {}, h("button", { type: "button", onclick: () => this.#load() }, "Look again")));
  }

  opened() {
    this.#load();
  }

  closed() {}

  changed(change) {
    if (change === null) this.#load();
  }

  ticked() {}

  acted() {
    this.#load();
  }

  async #load() {
    try {
      const { operations } = await this.#context.api.get("/api/operations");
      this.#show(operations);
    } catch (error) {
      if (error.isAbsent) this.#context.hide("log");
      fill(this.#body, fault(error));
    }
  }

  #show(operations) {
    const now = this.#context.live.state.now();
    fill(this.#body, operations.length === 0 ? nothing("No operator has changed anything.") : table(
      "Operations", ["When", "User", "Door", "Peer", "Command", "Answer"],
      operations.map((operation) => h("tr", {},
        h("td.number", {}, momentLabel(operation.at, now)), h("td", {}, shown(operation.user)),
        h("td", {}, shown(operation.door)), h("td", {}, shown(operation.peer)),
        h("td.long", {}, h("code", {}, shown(operation.command))),
        h("td.long", {}, shown(operation.answer))))));
  }
}
