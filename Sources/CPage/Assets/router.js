// Which view is open: the fragment of the address holds the view and its filters, so that each view
// has a link. It never goes to the server.

/** The place in the address: `#/jobs?state=failed` is the view `jobs` with one filter. */
export function readPlace(hash = location.hash) {
  const [before, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...rest] = before.split("/");
  return {
    view: view || "threads",
    name: rest.length > 0 ? decode(rest.join("/")) : null,
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a place. */
export function link(view, name = null, query = {}) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(key, value);
  }
  const text = parameters.toString();
  return `#/${view}${name === null ? "" : "/" + encodeURIComponent(name)}${text ? "?" + text : ""}`;
}

/** Goes to a place; with `replaces`, without a step in the history. */
export function go(address, replaces = false) {
  if (address === location.hash) return;
  if (!replaces) {
    location.hash = address;
    return;
  }
  history.replaceState(null, "", address);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
