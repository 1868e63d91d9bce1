// Bytes that a job takes or gives: read up to 64 KB, shown as text or in hexadecimal, never as
// markup.

import { h, fill } from "./dom.js";
import { fault } from "./parts.js";
import { plain, size } from "./text.js";

export const shownMax = 65_536;

/** Bytes of a JSON value: a string, or `{"base64": "…"}`. */
export function bytesOf(value) {
  if (typeof value === "string") return new TextEncoder().encode(value);
  return Uint8Array.from(atob(value?.base64 ?? ""), (letter) => letter.charCodeAt(0));
}

/**
 * The first bytes of a member of an answer, read no further than is needed: a payload may have
 * hundreds of megabytes.
 *
 * @param {Response} response whose body is `{"NAME": "…"}` or `{"NAME": {"base64": "…"}}`.
 * @returns the bytes, and whether they are all.
 */
export async function readFirstBytes(response, name) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  // An escape takes up to six characters, a group of base64 four for three bytes.
  const wanted = 6 * shownMax + 100;
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return { bytes: bytesOf(JSON.parse(text)[name]), isAll: true };
    text += value;
    if (text.length < wanted) continue;
    await reader.cancel();
    return { bytes: beginning(text, name), isAll: false };
  }
}

/** The bytes of a text that was cut off. */
function beginning(text, name) {
  const base64 = new RegExp(`^\\{"${name}":\\{"base64":"([A-Za-z0-9+/]*)`).exec(text);
  if (base64) return bytesOf({ base64: base64[1].slice(0, base64[1].length & ~3) });
  // Whole characters and whole escapes only.
  const string = new RegExp(
    `^\\{"${name}":("(?:[^"\\\\]|\\\\u[0-9a-fA-F]{4}|\\\\[^u])*)`).exec(text);
  return bytesOf(string ? JSON.parse(string[1] + '"') : "");
}

/** Sixteen bytes a line: place, hexadecimal, text. */
export function hexadecimal(bytes) {
  const lines = [];
  for (let place = 0; place < bytes.length; place += 16) {
    const row = [...bytes.subarray(place, place + 16)];
    const digits = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = row.map((byte) => byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".");
    lines.push(`${place.toString(16).padStart(6, "0")}  ${digits.padEnd(47)}  ${text.join("")}`);
  }
  return lines.join("\n");
}

function isText(bytes) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return !bytes.subarray(0, shownMax).includes(0);
  } catch {
    return false;
  }
}

/**
 * Bytes with the choice of text or hexadecimal.
 *
 * @param {string} title
 * @param {Uint8Array} bytes
 * @param {number|null} all how many there are, if more than these; null if that is not known.
 */
export function bytesView(title, bytes, all = bytes.length) {
  const first = bytes.subarray(0, shownMax);
  const body = h("pre.text", { tabindex: "0", role: "region", "aria-label": title });
  const buttons = ["text", "hex"].map((kind) => h("button.quiet", {
    type: "button", onclick: () => showAs(kind),
  }, kind === "text" ? "Text" : "Hex"));
  const showAs = (kind) => {
    body.textContent = kind === "hex" ? hexadecimal(first) : plain(new TextDecoder().decode(first));
    buttons.forEach((button, index) => {
      button.setAttribute("aria-pressed", String(["text", "hex"][index] === kind));
    });
  };
  showAs(isText(first) ? "text" : "hex");
  const isAll = all !== null && all <= first.length;
  const whole = all === null ? "" : ` of ${size(all)}`;
  const amount = isAll ? size(all) : `the first ${size(first.length)}${whole}`;
  return h("div.bytes", {}, h("p.bytes-head", {}, h("span", {}, `${title}, ${amount}`),
    h("span.choice", { role: "group", "aria-label": "Show as" }, buttons)), body);
}

/** A button that fetches bytes when it is asked to, and shows them in its place. */
export function bytesOnDemand(label, fetchBytes) {
  const place = h("div.on-demand");
  const button = h("button", {
    type: "button",
    onclick: async () => {
      button.disabled = true;
      try {
        fill(place, await fetchBytes());
      } catch (error) {
        fill(place, button, fault(error));
        button.disabled = false;
      }
    },
  }, label);
  fill(place, button);
  return place;
}
