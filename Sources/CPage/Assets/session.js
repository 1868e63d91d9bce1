// The user of the page: a ticket in the address becomes a key, which this tab keeps until it is
// closed.

import { API, APIError } from "./api.js";
import { fill, h } from "./dom.js";

const storageName = "workerd.key";
const allRoles = ["observe", "submit", "work", "operate"];

/** A user with a key. */
export class Session {
  constructor(key, answer) {
    this.key = key;
    this.user = answer.user ?? "";
    this.roles = new Set(answer.roles ?? allRoles);
    this.mayReadPayloads = answer.payloads ?? true;
  }

  /** Whether the user has one of these roles. */
  may(...roles) {
    return roles.some((role) => this.roles.has(role));
  }

  /** Forgets the key of this tab. */
  static forget() {
    sessionStorage.removeItem(storageName);
  }
}

/** Takes the ticket out of the address, so that it stays in no history. */
function takeTicket() {
  const found = /^#ticket=([^&]*)/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, "", location.pathname + "#/threads");
  return decodeURIComponent(found[1]);
}

async function exchange(ticket) {
  const answer = await new API("").post("/api/session", { ticket });
  sessionStorage.setItem(storageName, answer.key);
  return new Session(answer.key, answer);
}

/** Asks who the owner of a key is. A server without users has one key, which may do all. */
async function identify(key) {
  try {
    return new Session(key, await new API(key).get("/api/session"));
  } catch (error) {
    if (!(error instanceof APIError) || error.status !== 404) throw error;
  }
  await new API(key).get("/api/threads");
  return new Session(key, {});
}

/**
 * Signs in by the ticket of the address, by the key of this tab, or by a form.
 *
 * @param {HTMLElement} place where the form is shown.
 * @param {string} notice why the form is shown, if there is a reason.
 */
export async function signIn(place, notice = "") {
  const ticket = takeTicket();
  try {
    if (ticket !== null) return await exchange(ticket);
    const key = sessionStorage.getItem(storageName);
    if (key !== null && notice === "") return await identify(key);
  } catch (error) {
    notice = ticket !== null
      ? `The link counts no more: ${error.message}. A link is valid once, for a minute: `
        + "workerctl page prints another one."
      : `The key is not taken: ${error.message}.`;
  }
  Session.forget();
  return new Promise((resolve) => ask(place, notice, resolve));
}

function ask(place, notice, resolve) {
  const input = h("input", {
    id: "key", type: "password", autocomplete: "off", required: true, spellcheck: "false",
    "aria-describedby": "key-notice",
  });
  const said = h("p.notice", { id: "key-notice" }, notice);
  const button = h("button.primary", { type: "submit" }, "Sign in");
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const session = await identify(input.value.trim());
      sessionStorage.setItem(storageName, session.key);
      place.hidden = true;
      resolve(session);
    } catch (error) {
      said.textContent = `The key is not taken: ${error.message}.`;
      button.disabled = false;
      input.select();
    }
  };
  fill(
    place,
    h("form.sign-in", { onsubmit: submit },
      h("h1", {}, "workerd"),
      h("p", {}, "Run ", h("code", {}, "workerctl page"), " for a link that opens this page, ",
        "or give a key."),
      h("label", { for: "key" }, "Key"), input, button, said));
  place.hidden = false;
  input.focus();
}
