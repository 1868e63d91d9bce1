// Numbers, durations and foreign texts as people read them.

const digits = new Intl.NumberFormat("en-US");

/** 8,412 for 8412. */
export function count(number) {
  return digits.format(number);
}

/** "1 job", "8,412 jobs". */
export function counted(number, one, many = one + "s") {
  return `${count(number)} ${number === 1 ? one : many}`;
}

const units = [
  [86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1_000, "s"],
];

/** A duration in at most two units: "250 ms", "12 s", "4 min", "1 h 5 min". */
export function duration(milliseconds) {
  const rest = Math.max(0, milliseconds);
  if (rest < 1_000) return `${Math.round(rest)} ms`;
  if (rest < 10_000 && rest % 1_000 >= 50) return `${(rest / 1_000).toFixed(1)} s`;
  const index = units.findIndex(([length]) => rest >= length);
  const [length, name] = units[index];
  const whole = Math.floor(rest / length);
  const next = units[index + 1];
  // Minutes stand alone from 10 on: nothing hangs on their seconds.
  if (!next || (name === "min" && whole >= 10)) return `${whole} ${name}`;
  const more = Math.floor((rest % length) / next[0]);
  return more > 0 ? `${whole} ${name} ${more} ${next[1]}` : `${whole} ${name}`;
}

/** An age for a sentence that is read, not measured: without seconds from 1 min on. */
export function age(milliseconds) {
  if (milliseconds < 60_000) return `${Math.floor(Math.max(0, milliseconds) / 1_000)} s`;
  if (milliseconds < 3_600_000) return `${Math.floor(milliseconds / 60_000)} min`;
  return duration(milliseconds);
}

/** The size of something in bytes. */
export function size(bytes) {
  if (bytes < 1_024) return counted(bytes, "byte");
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KB`;
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}

/**
 * Milliseconds of a text such as `90s`, `10m`, `2h`, `1d` or `1h30m`; null if it is none.
 */
export function milliseconds(text) {
  const lengths = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
  const compact = text.replace(/\s+/g, "");
  if (!/^(\d+(ms|min|s|m|h|d))+$/.test(compact)) return null;
  let sum = 0;
  for (const [, number, unit] of compact.matchAll(/(\d+)(ms|min|s|m|h|d)/g)) {
    sum += Number(number) * lengths[unit];
  }
  return sum;
}

// Characters that change what stands beside them, or that cannot be seen: controls, and those that
// turn the direction of writing around.
const hidden = new RegExp(
  "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f"
    + "\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff]", "g");

/** A foreign text with its invisible characters written out, as `\u202e`. */
export function plain(text) {
  return text.replace(hidden, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** A text, or the bytes that are none: `{"base64": "…"}` becomes a short text for people. */
export function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "object" && "base64" in value) return `bytes in base64: ${value.base64}`;
  return plain(String(value));
}

/** The beginning of a text. */
export function cut(text, length) {
  return text.length > length ? text.slice(0, length - 1) + "…" : text;
}
