// All threads as lanes. Only lanes that can be seen are drawn, so a thousand cost little.

import { pauseAction } from "./actions.js";
import { fill, h, setText, show } from "./dom.js";
import { Lane } from "./lane.js";
import { laneRows } from "./laneRows.js";
import { legend } from "./legend.js";
import { go, link } from "./router.js";
import { counted } from "./text.js";
import { moment } from "./time.js";

/** The order of lanes changes at most so often, and not under a pointer or the focus. */
const orderPause = 3_000;

/** The view `#/threads`. */
export class ThreadsView {
  title = "Threads";
  #context;
  #lanes = new Map();
  #opened = new Set();
  #rows = [];
  #seen = new Set();
  #orderedAt = -Infinity;
  #width = 600;
  #list = h("ul.lanes", { "aria-label": "Threads" });
  #axis = h("div.axis", { "aria-hidden": "true" });
  #empty = h("p.nothing");
  #filter;
  #sight = new IntersectionObserver((entries) => this.#look(entries), { rootMargin: "200px" });
  #sizes = new ResizeObserver(() => this.#measure());

  constructor(context, place) {
    this.#context = context;
    this.#filter = h("input", {
      type: "search", id: "filter", placeholder: "Filter threads", "aria-label": "Filter threads",
      value: place.query.name ?? "", oninput: () => this.#filterChanged(),
    });
    this.element = h("section.threads", {}, h("h2.spoken", {}, "Threads"),
      h("div.toolbar", {}, this.#filter, legend()), this.#axis, this.#list, this.#empty);
  }

  opened() {
    this.#sizes.observe(this.#axis);
    this.#measure();
    this.#arrange();
  }

  closed() {
    this.#sight.disconnect();
    this.#sizes.disconnect();
  }

  /** Takes a change of the server's state: null for a snapshot. */
  changed(change) {
    if (change === null) this.#orderedAt = -Infinity;
    this.#arrange();
  }

  /** Once a second: ages grow, and the time line moves. */
  ticked() {
    this.#arrange();
  }

  filterInput() {
    return this.#filter;
  }

  /** The actions of the lane that has the focus. */
  actionsOf(row) {
    const name = row.dataset.row;
    const state = row.lane.element.dataset.state;
    if (state === "elsewhere") return {};
    return {
      p: pauseAction(this.#context.api, name, state === "paused" || state === "pausing"),
    };
  }

  #filterChanged() {
    go(link("threads", null, { name: this.#filter.value }), true);
    this.#orderedAt = -Infinity;
    this.#arrange();
  }

  /** Whether the same view takes a new place in the address without being made anew. */
  moved(place) {
    if (place.name !== null) return false;
    const name = place.query.name ?? "";
    if (this.#filter.value !== name) this.#filter.value = name;
    return true;
  }

  #measure() {
    const middle = this.#axis.querySelector(".ticks");
    this.#width = Math.max(60, middle?.clientWidth ?? this.#axis.clientWidth);
    this.#draw();
  }

  /** Decides which lanes there are, and draws those that can be seen. */
  #arrange() {
    const { live, troubles } = this.#context;
    if (live.freshness === "connecting") return;
    const now = performance.now();
    const isHeld = this.#list.matches(":hover") || this.#list.contains(document.activeElement);
    const isDue = now - this.#orderedAt > orderPause && !isHeld;
    if (isDue || this.#orderedAt === -Infinity) {
      this.#orderedAt = now;
      this.#rows = laneRows(live.state, troubles(), this.#filter.value.trim(), this.#opened);
      this.#place();
    }
    this.#draw();
  }

  /** Puts the lanes into the list, and moves only those that have another place. */
  #place() {
    const wanted = this.#rows.map((row) => this.#laneOf(row).element);
    const names = new Set(this.#rows.map(keyOf));
    for (const [key, lane] of this.#lanes) {
      if (names.has(key)) continue;
      this.#sight.unobserve(lane.element);
      this.#seen.delete(lane.element);
      lane.element.remove();
      this.#lanes.delete(key);
    }
    let next = this.#list.firstElementChild;
    for (const element of wanted) {
      if (element === next) next = next.nextElementSibling;
      else this.#list.insertBefore(element, next);
    }
    show(this.#empty, wanted.length === 0);
    setText(
      this.#empty, this.#filter.value ? "No thread has this in its name." : "There is no thread.");
  }

  #laneOf(row) {
    const key = keyOf(row);
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = new Lane(row.name, row.isPool);
      this.#lanes.set(key, lane);
      this.#sight.observe(lane.element);
      if (row.isPool) this.#addOpener(lane, row.name);
    }
    lane.row = row;
    return lane;
  }

  #addOpener(lane, name) {
    lane.opener = h("button.quiet.opener", {
      type: "button", onclick: () => {
        if (!this.#opened.delete(name)) this.#opened.add(name);
        this.#orderedAt = -Infinity;
        this.#arrange();
      },
    });
    lane.element.append(lane.opener);
  }

  #look(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#seen.add(target);
      else this.#seen.delete(target);
    }
    this.#draw();
  }

  #draw() {
    const { state } = this.#context.live;
    const scale = { width: this.#width, now: state.now(), timeline: state.timeline };
    this.#drawAxis(scale);
    for (const element of this.#seen) {
      const { lane } = element;
      lane.update(lane.row.view(), scale);
      if (lane.opener) this.#showOpener(lane);
    }
  }

  #showOpener({ opener, name, row }) {
    const isOpened = this.#opened.has(name);
    show(opener, row.hidden > 0 || isOpened);
    setText(opener, isOpened ? "Hide idle threads" : `Show ${counted(row.hidden, "idle thread")}`);
    opener.setAttribute("aria-expanded", String(isOpened));
  }

  #drawAxis({ now, timeline }) {
    const span = timeline.bucket * timeline.count;
    const ticks = [0, 1 / 3, 2 / 3].map((share) => {
      const tick = h("span.tick", {}, moment(now - span * (1 - share), now).slice(-8, -3));
      tick.style.setProperty("left", `${100 * share}%`);
      return tick;
    });
    fill(this.#axis, h("div.ticks", {}, ticks, h("span.tick.now", {}, "now")));
  }
}

function keyOf({ name, isPool }) {
  return (isPool ? "pool " : "thread ") + name;
}
