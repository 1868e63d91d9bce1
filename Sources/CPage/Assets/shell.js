// The same as a line for a shell: each action of the page names its line of `workerctl`.

import { plain } from "./text.js";

const safe = /^[A-Za-z0-9_.,:/@%+=-]+$/;

/**
 * A word as a shell reads it back.
 *
 * Characters that cannot be seen are written out, as bash and zsh read them.
 */
export function quoted(word) {
  const text = String(word);
  if (safe.test(text)) return text;
  if (plain(text) !== text || text.includes("\n")) {
    const escaped = text.replace(/[\\']/g, "\\$&").replaceAll("\n", "\\n");
    return `$'${plain(escaped)}'`;
  }
  return "'" + text.replaceAll("'", "'\\''") + "'";
}

/** A line of `workerctl`. */
export function workerctl(...words) {
  return ["workerctl", ...words.filter((word) => word !== null && word !== undefined)]
    .map(quoted).join(" ");
}
