// The top of the page: the verdict in words, and how fresh it is.

import { fill, h, setText, show } from "./dom.js";
import { age, count } from "./text.js";
import { headline, troubles } from "./trouble.js";

/** More things than these are counted, not told. */
const toldMax = 6;

const line = document.getElementById("verdict-line");
const list = document.getElementById("verdict-list");
const spoken = document.getElementById("verdict-spoken");
const figures = document.getElementById("figures");
const freshness = document.getElementById("freshness-text");

let told = "";

/** Shows the state as it is now; `found` are its troubles. */
export function showVerdict(live) {
  document.documentElement.dataset.fresh = live.freshness;
  setText(freshness, freshnessText(live));
  if (live.freshness === "connecting") {
    setText(line, live.reason === "" ? "Connecting …" : `Not connected: ${live.reason}`);
    return [];
  }
  const found = troubles(live.state);
  const head = headline(found);
  document.documentElement.dataset.verdict = verdictOf(found);
  document.title = found.length === 0 ? "workerd" : `(${found.length}) workerd`;
  setText(line, found.length === 0 ? head : `${head}:`);
  showList(found);
  showFigures(live.state.counts);
  // Spoken without durations: what only grows older is no news.
  const gists = found.slice(0, toldMax).map((trouble) => trouble.gist ?? trouble.text);
  setText(
    spoken,
    live.freshness === "stale" ? "Not connected"
      : gists.length === 0 ? head : `${head}: ${gists.join("; ")}`);
  return found;
}

function verdictOf(found) {
  if (found.length === 0) return "well";
  return found[0].rank <= 2 ? "bad" : "doubtful";
}

function freshnessText(live) {
  if (live.freshness === "live") return "live";
  if (live.freshness === "connecting") return "connecting";
  const why = live.reason === "" ? "" : ` (${live.reason})`;
  return `not connected for ${age(live.silence)}${why}`;
}

function showList(found) {
  const rows = found.slice(0, toldMax);
  const key = JSON.stringify(rows.map(({ text, link }) => [text, link])) + found.length;
  if (key === told) return;
  told = key;
  // A link that has the focus keeps it: texts change in place while the list has the same things.
  const links = rows.map((trouble) => trouble.link);
  const present = [...list.children].map((item) => item.dataset.link ?? null);
  if (JSON.stringify(links) === JSON.stringify(present)) {
    rows.forEach((trouble, index) => setText(list.children[index].firstChild, trouble.text));
    return;
  }
  fill(
    list,
    rows.map((trouble) => h("li", { "data-link": trouble.link },
      trouble.link ? h("a", { href: trouble.link }, trouble.text) : h("span", {}, trouble.text))),
    found.length > toldMax
      ? h("li", {}, h("span", {}, `and ${found.length - toldMax} more`)) : null);
}

function showFigures(counts) {
  const parts = [
    ["running", "running"], ["waiting", "waiting"], ["delayed", "delayed"], ["held", "held up"],
    ["awaiting", "without a worker"], ["failed", "failed since the start"],
  ].filter(([name]) => counts[name] > 0 || name === "running" || name === "waiting");
  const text = parts.map(([name, word]) => `${count(counts[name] ?? 0)} ${word}`).join(" · ");
  setText(figures, text);
  show(figures, true);
}
