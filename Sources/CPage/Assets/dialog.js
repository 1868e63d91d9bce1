// One dialog at a time: a question with its consequence, then the answer. The browser's own element
// keeps the focus inside, gives it back, and closes at Escape.

import { fill, h, show } from "./dom.js";

const dialog = document.getElementById("dialog");
let whenClosed = () => {};

dialog.addEventListener("close", () => whenClosed());

/**
 * Opens the dialog with a title and a body.
 *
 * @param {string} title
 * @param {Array} body
 * @param {() => void} onClose called once when it closes.
 */
export function openDialog(title, body, onClose = () => {}) {
  if (dialog.open) dialog.close();
  whenClosed = onClose;
  fill(dialog, h("h2", { id: "dialog-title" }, title), body);
  dialog.showModal();
}

export function closeDialog() {
  dialog.close();
}

export function isDialogOpen() {
  return dialog.open;
}

/** A line for a shell, with a button that copies it. */
export function commandLine(text) {
  const button = h("button.quiet", {
    type: "button",
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
    },
  }, "Copy");
  const code = h("code", {}, text);
  return h("p.command", {}, code, button);
}

/**
 * Asks before an action, carries it out, and shows the answer.
 *
 * @param {object} action `title`, `text` (what it does), `command` (the same for a shell), `verb`
 *     (the button), `isGrave`, and `run`, which answers with a sentence.
 * @param {() => void} onDone called after the action.
 */
export function confirmAction(action, onDone = () => {}) {
  const said = h("p.answer", { id: "answer" });
  // The focus goes there with the answer, so that a screen reader reads both.
  const close = h(
    "button", { type: "button", onclick: closeDialog, "aria-describedby": "answer" }, "Close");
  const go = h(`button.primary${action.isGrave ? ".grave" : ""}`, { type: "button" }, action.verb);
  const leave = h("button", { type: "button", onclick: closeDialog }, "Leave it");
  show(close, false);
  go.addEventListener("click", async () => {
    go.disabled = true;
    try {
      said.textContent = await action.run();
      said.classList.remove("error");
      show(go, false);
      show(leave, false);
      show(close, true);
      close.focus();
      onDone();
    } catch (error) {
      said.textContent = error.message;
      said.classList.add("error");
      go.disabled = false;
    }
  });
  openDialog(action.title, [
    h("p", {}, action.text), action.command ? commandLine(action.command) : null, said,
    h("div.buttons", {}, go, leave, close),
  ]);
  go.focus();
}
