// The same as a line for a shell: each action of the page names its `workerctl` line.

const safe = /^[A-Za-z0-9_.,:/@%+=-]+$/;

/** A word as a shell reads it back. */
export function quoted(word) {
  const text = String(word);
  if (safe.test(text)) return text;
  return "'" + text.replaceAll("'", "'\\''") + "'";
}

/** A line of `workerctl`. */
export function workerctl(...words) {
  return ["workerctl", ...words.filter((word) => word !== null && word !== undefined)]
    .map(quoted).join(" ");
}
