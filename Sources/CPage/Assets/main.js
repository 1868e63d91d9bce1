// The page: signs in, follows the server, and opens the view that the address names.

import { API } from "./api.js";
import { fill, h, morph, show } from "./dom.js";
import { FailuresView } from "./failuresView.js";
import { JobsView } from "./jobsView.js";
import { JobView } from "./jobView.js";
import { listenToKeys, openHelp } from "./keys.js";
import { Live } from "./live.js";
import { LogView } from "./logView.js";
import { go, link, readPlace } from "./router.js";
import { SchedulesView } from "./schedulesView.js";
import { Session, signIn } from "./session.js";
import { ThreadsView } from "./threadsView.js";
import { ThreadView } from "./threadView.js";
import { onZoneChange, switchZone, zoneName } from "./time.js";
import { troubles } from "./trouble.js";
import { showVerdict } from "./verdict.js";
import { WorkersView } from "./workersView.js";

/** The views in their order: a list, and one thing of it. */
const views = {
  threads: { word: "Threads", List: ThreadsView, One: ThreadView },
  failures: { word: "Failures", List: FailuresView },
  jobs: { word: "Jobs", List: JobsView, One: JobView },
  schedules: { word: "Schedules", List: SchedulesView },
  workers: { word: "Workers", List: WorkersView },
  log: { word: "Log", List: LogView },
};

const page = document.getElementById("page");
const main = document.getElementById("main");
const nav = document.getElementById("views");

let context = null;
let view = null;
let openedName = "";

async function begin(notice = "") {
  show(page, false);
  const session = await signIn(document.getElementById("sign-in"), notice);
  const api = new API(session.key, () => end("The key is not valid any more."));
  const live = new Live(api);
  context = {
    session, api, live,
    /** Parts that this server does not have, or not for this user. */
    absent: new Set(session.may("operate") ? [] : ["log"]),
    troubles: () => found,
    hide: (name) => {
      context.absent.add(name);
      showNavigation();
    },
  };
  let found = [];
  live.on((change) => {
    found = live.freshness === "connecting" ? [] : troubles(live.state);
    showVerdict(live);
    if (change !== undefined) openWaiting();
    if (change !== undefined) view?.changed(change);
  });
  document.getElementById("user").textContent = session.user;
  show(page, true);
  open();
  live.start();
}

/** Ends the session, and asks for another key. */
function end(notice) {
  if (context === null) return;
  context.live.stop();
  context = null;
  close();
  Session.forget();
  begin(notice);
}

function close() {
  view?.closed();
  view = null;
  openedName = "";
}

/** Opens the view of the address, or lets it take the new address. */
function open() {
  if (context === null) return;
  const place = readPlace();
  const known = views[place.view] ?? views.threads;
  const View = place.name !== null && known.One ? known.One : known.List;
  const name = `${View.name} ${place.name ?? ""}`;
  if (name === openedName && view?.moved?.(place)) return;
  const hadFocus = main.contains(document.activeElement);
  close();
  openedName = name;
  document.documentElement.dataset.view = known.word + (place.name === null ? "" : " one");
  view = new View(context, place);
  fill(main, view.element);
  showNavigation();
  scrollTo(0, 0);
  view.opened();
  // The focus was on something of the view before: it goes on from here.
  if (hadFocus) main.focus({ preventScroll: true });
}

/** A view whose choices come from the server's state is made anew with the first snapshot. */
let isWaiting = true;
function openWaiting() {
  if (!isWaiting) return;
  isWaiting = false;
  if (view instanceof JobsView) {
    openedName = "";
    open();
  }
}

function showNavigation() {
  const present = readPlace().view;
  morph(nav, Object.entries(views).filter(([name]) => !context.absent.has(name)).map(
    ([name, { word }]) => h("a", {
      href: link(name), "aria-current": present === name ? "page" : null,
    }, word)));
}

/** Shown ages grow without a word from the server. */
function tick() {
  if (context === null || document.hidden) return;
  showVerdict(context.live);
  if (context.live.freshness === "live") view?.ticked();
}

function showZone() {
  document.getElementById("zone").textContent = zoneName();
}

document.getElementById("zone").addEventListener("click", switchZone);
document.getElementById("help").addEventListener("click", openHelp);
document.getElementById("sign-out").addEventListener("click", () => end("You have signed out."));
document.getElementById("skip").addEventListener("click", (event) => {
  // The fragment is the view's address, not a place on the page.
  event.preventDefault();
  main.focus();
});
onZoneChange(() => {
  showZone();
  openedName = "";
  open();
});
window.addEventListener("hashchange", () => {
  // A link that is pasted into an open page signs in anew.
  if (location.hash.startsWith("#ticket=")) location.reload();
  else open();
});
listenToKeys(
  () => view,
  (number) => {
    const name = Object.keys(views).filter((other) => !context.absent.has(other))[number - 1];
    if (name) go(link(name));
  },
  (...roles) => context?.session.may(...roles) ?? false);
showZone();
setInterval(tick, 1_000);
begin();
