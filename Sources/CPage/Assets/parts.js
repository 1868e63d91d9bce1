// Small parts that several views share: states, moments, links, tables, buttons of actions.

import { confirmAction } from "./dialog.js";
import { h, svg } from "./dom.js";
import { markPath } from "./laneDrawing.js";
import { link } from "./router.js";
import { duration, shown } from "./text.js";
import { fullMoment, moment } from "./time.js";

// Each state has a shape beside its colour.
const shapes = {
  idle: "ring", running: "play", stuck: "bang", paused: "pause", pausing: "pause", held: "box",
  stopping: "dash", stopped: "dash", orphaned: "dash", delayed: "clock", buffered: "dash",
  waiting: "ring", done: "tick", failed: "failed", cancelled: "cancelled", expired: "expired",
  serves: "play", waits: "ring", elsewhere: "dash",
};
const shapePaths = {
  play: "M4 2.5L12 8L4 13.5Z", ring: "M8 3.2a4.8 4.8 0 1 0 .01 0Z", pause: "M4.5 3V13M11.5 3V13",
  box: "M3 3H13V13H3Z", dash: "M3 8H13", tick: "M3 8.5L6.5 12L13 4",
  clock: "M8 3.2a4.8 4.8 0 1 0 .01 0ZM8 5.5V8L10 9.5", bang: "M8 1.5L15 14H1ZM8 6V9.6M8 11.4V12.2",
  failed: markPath("failed", 8, 8, 5), cancelled: markPath("cancelled", 8, 8, 4),
  expired: markPath("expired", 8, 8, 4.4),
};

/** A state: its shape and its word. */
export function stateLabel(state, word = state) {
  const shape = shapes[state] ?? "ring";
  return h("span.state", { "data-state": state },
    svg("svg", { viewBox: "0 0 16 16", class: `shape ${shape}`, "aria-hidden": "true" },
      svg("path", { d: shapePaths[shape] })),
    h("span", {}, word));
}

/** A moment that follows the choice of UTC or local time. */
export function momentLabel(unixMilliseconds, now) {
  if (unixMilliseconds === null || unixMilliseconds === undefined) return h("span.none", {}, "–");
  return h("time", {
    datetime: new Date(unixMilliseconds).toISOString(), title: fullMoment(unixMilliseconds),
  }, moment(unixMilliseconds, now));
}

/** How far away a moment is: "in 4 min", "12 s ago". */
export function distance(unixMilliseconds, now) {
  const away = unixMilliseconds - now;
  return away > 0 ? `in ${duration(away)}` : `${duration(-away)} ago`;
}

export function jobLink(id, text = String(id)) {
  return h("a.number", { href: link("jobs", id) }, text);
}

export function threadLink(name) {
  return h("a", { href: link("threads", name) }, name);
}

/** The page of another node, at a place; its address as it is if it is none of HTTP. */
export function pageLink(http, place = "") {
  const address = shown(http);
  if (!/^https?:\/\//.test(address)) return address || "–";
  return h("a", { href: `${address}/${place}` }, address);
}

/**
 * A table with a caption that only screen readers get.
 *
 * @param {string} caption
 * @param {Array} columns each a word, or `{title, class}`.
 */
export function table(caption, columns, ...rows) {
  const head = columns.map((column) => typeof column === "string" ? { title: column } : column);
  return h("div.scroll", {}, h("table", {},
    h("caption.spoken", {}, caption),
    h("thead", {}, h("tr", {},
      head.map((column) => h("th", { scope: "col", class: column.class ?? null }, column.title)))),
    h("tbody", {}, rows)));
}

/** A button that asks and then acts; null if the user may not. */
export function actionButton(context, action, label, onDone) {
  if (!context.session.may(...action.roles)) return null;
  return h(`button${action.isGrave ? ".grave" : ""}`, {
    type: "button", onclick: () => confirmAction(action, onDone),
  }, label);
}

/** A sentence in place of something that is not there. */
export function nothing(text) {
  return h("p.nothing", {}, text);
}

/** A sentence for a request that failed. */
export function fault(error) {
  return h("p.notice", {}, error.message);
}
