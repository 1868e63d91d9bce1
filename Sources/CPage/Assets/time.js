// Moments as UTC or local time. The choice is kept in this browser.

const storageName = "workerd.zone";
const listeners = new Set();

let isLocal = read() === "local";

function read() {
  try {
    return localStorage.getItem(storageName);
  } catch {
    return null;
  }
}

/** "UTC" or the name of the local zone. */
export function zoneName() {
  return isLocal ? Intl.DateTimeFormat().resolvedOptions().timeZone || "local" : "UTC";
}

/** Changes between UTC and local time. */
export function switchZone() {
  isLocal = !isLocal;
  try {
    localStorage.setItem(storageName, isLocal ? "local" : "utc");
  } catch {
    // The choice then holds until the page is closed.
  }
  for (const listener of listeners) listener();
}

/** Calls `listener` after each change. */
export function onZoneChange(listener) {
  listeners.add(listener);
}

function parts(unixMilliseconds) {
  const date = new Date(unixMilliseconds);
  const two = (number) => String(number).padStart(2, "0");
  const [year, month, day, hour, minute, second] = isLocal
    ? [date.getFullYear(), date.getMonth(), date.getDate(), date.getHours(), date.getMinutes(),
      date.getSeconds()]
    : [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), date.getUTCHours(),
      date.getUTCMinutes(), date.getUTCSeconds()];
  return {
    day: `${year}-${two(month + 1)}-${two(day)}`,
    time: `${two(hour)}:${two(minute)}:${two(second)}`,
  };
}

/** A moment: "14:03:12", with its day if that is not the day of `now`. */
export function moment(unixMilliseconds, now = Date.now()) {
  const { day, time } = parts(unixMilliseconds);
  return day === parts(now).day ? time : `${day} ${time}`;
}

/** A moment in full: "2026-11-25 14:03:12 UTC". */
export function fullMoment(unixMilliseconds) {
  const { day, time } = parts(unixMilliseconds);
  return `${day} ${time} ${zoneName()}`;
}
