// The keyboard: one key for each thing, and never a key that a person writes into a field.

import { closeDialog, confirmAction, isDialogOpen, openDialog } from "./dialog.js";
import { h } from "./dom.js";

const meanings = [
  ["/", "filter what is shown"],
  ["j", "next row"],
  ["k", "row before"],
  ["Enter", "open the row"],
  ["x", "cancel the job; drop a failed job or a group"],
  ["p", "pause or resume the thread"],
  ["r", "run the failed job, or the group, again"],
  ["1 … 6", "another view"],
  ["?", "this help; Escape closes it"],
];

/** Shows what each key does. */
export function openHelp() {
  openDialog("Keys", [
    h("dl.keys", {}, meanings.map(
      ([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    h("p", {}, "x, p and r mean the row that has the focus, or the job or thread that is open. "
      + "Each of them asks first, and shows the same as a line of workerctl."),
    h("div.buttons", {}, h("button", { type: "button", onclick: closeDialog }, "Close")),
  ]);
}

/**
 * Listens to the keys.
 *
 * @param {() => object} currentView
 * @param {(number: number) => void} openView
 * @param {(...roles: string[]) => boolean} may whether the user has one of the roles.
 */
export function listenToKeys(currentView, openView, may) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isDialogOpen()) return;
    const field = event.target.closest?.("input, select, textarea");
    if (field) {
      if (event.key === "Escape") field.blur();
      return;
    }
    const view = currentView();
    if (view && take(event.key, view, openView, may)) event.preventDefault();
  });
}

/** Does what a key means; false if it means nothing here. */
function take(key, view, openView, may) {
  switch (key) {
    case "?": openHelp(); return true;
    case "/": return focus(view.filterInput?.());
    case "j": return step(view.element, 1);
    case "k": return step(view.element, -1);
    case "x": case "p": case "r": return act(key, view, may);
    default:
      if (!/^[1-6]$/.test(key)) return false;
      openView(Number(key));
      return true;
  }
}

function focus(element) {
  if (!element) return false;
  element.focus();
  element.select?.();
  return true;
}

function rowsIn(element) {
  return [...element.querySelectorAll("[data-row]")];
}

/** Moves the focus to the next row or the one before. */
function step(element, direction) {
  const rows = rowsIn(element);
  if (rows.length === 0) return false;
  const present = rows.indexOf(document.activeElement?.closest?.("[data-row]"));
  const next = present < 0 ? (direction > 0 ? 0 : rows.length - 1)
    : Math.min(rows.length - 1, Math.max(0, present + direction));
  const row = rows[next];
  row.scrollIntoView({ block: "nearest" });
  // A lane that has not been seen yet is furnished when it comes into sight.
  const target = row.querySelector("a, [tabindex]");
  if (target) target.focus();
  else requestAnimationFrame(() => requestAnimationFrame(() => row.querySelector("a")?.focus()));
  return true;
}

/** Does what a key means for the row that has the focus, or for the thing that the view shows. */
function act(key, view, may) {
  const row = document.activeElement?.closest?.("[data-row]")
    ?? (view.element.dataset.row === undefined ? null : view.element);
  const action = row && view.actionsOf?.(row)[key];
  if (!action || !may(...action.roles)) return false;
  if (action.open) action.open();
  else confirmAction(action, () => view.acted?.());
  return true;
}
