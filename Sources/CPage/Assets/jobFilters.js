// The filters of the table of jobs: as the address has them, as the server takes them, as a line
// for a shell.

import { h } from "./dom.js";
import { milliseconds } from "./text.js";
import { workerctl } from "./shell.js";

/** The states that have a tab, with the words on it. */
export const tabs = [
  ["", "All"], ["waiting", "Waiting"], ["delayed", "Delayed"], ["running", "Running"],
  ["failed", "Failed"], ["done", "Done"], ["cancelled", "Cancelled"], ["expired", "Expired"],
];

/** The filters by their names in the address. */
const filterNames = ["state", "thread", "selector", "key", "older", "newer", "reason"];

/** The filters that have a value. */
export function filtersOf(query) {
  return Object.fromEntries(
    filterNames.filter((name) => query[name]).map((name) => [name, query[name]]));
}

/** Durations as milliseconds; throws a sentence about one that is none. */
export function serverFilters(filters) {
  const result = { ...filters };
  for (const name of ["older", "newer"]) {
    if (!result[name]) continue;
    const value = milliseconds(result[name]);
    if (value === null) {
      throw new Error(`"${result[name]}" is no age: write 90s, 10m, 2h or 1d.`);
    }
    result[name] = value;
  }
  return result;
}

/** The filters as options of `workerctl jobs` and `workerctl bulk`. */
export function filterOptions(filters) {
  return Object.entries(filters).flatMap(([name, value]) => [`--${name}`, value]);
}

/** The line that lists the same jobs. */
export function listLine(filters, isOldestFirst) {
  return workerctl("jobs", ...filterOptions(filters), isOldestFirst ? "--oldest" : null);
}

/**
 * The form of the filters.
 *
 * @param {Array<string>} threads names to choose from.
 * @param {Array<string>} selectors likewise.
 * @param {(filters: object) => void} onChange called with all filters but the state and the reason.
 */
export function filterForm(threads, selectors, onChange) {
  const field = (name, title, more = {}) => h("label.field", {}, h("span", {}, title),
    h("input", { name, autocomplete: "off", spellcheck: "false", ...more }));
  const list = (id, names) => h(
    "datalist", { id }, names.map((name) => h("option", { value: name })));
  const read = (event) => {
    event.preventDefault();
    onChange(Object.fromEntries(
      [...form.querySelectorAll("input")].map((input) => [input.name, input.value.trim()])));
  };
  const form = h("form.filters", { "aria-label": "Filters", onsubmit: read, onchange: read },
    field("thread", "Thread", { list: "thread-names", id: "filter" }),
    list("thread-names", threads),
    field("selector", "Selector", { list: "selector-names" }),
    list("selector-names", selectors),
    field("key", "Key"),
    field("older", "Older than", { placeholder: "10m" }),
    field("newer", "Newer than", { placeholder: "2h" }),
    h("button", { type: "submit" }, "Filter"));
  return form;
}

/** Shows the filters of an address. */
export function fillForm(form, query) {
  for (const input of form.querySelectorAll("input")) {
    if (input !== document.activeElement) input.value = query[input.name] ?? "";
  }
}
