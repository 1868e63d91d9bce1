// Many jobs at once, carried out by the server: counted first, up to the highest number of that
// moment, with progress and a stop.

import { APIError, path } from "./api.js";
import { closeDialog, commandLine, isDialogOpen, openDialog } from "./dialog.js";
import { fill, h, setText, show } from "./dom.js";
import { filterOptions, serverFilters } from "./jobFilters.js";
import { workerctl } from "./shell.js";
import { count, counted } from "./text.js";

const words = {
  cancel: {
    verb: "Cancel", done: "cancelled",
    text: "Jobs that have not begun never run; running ones are asked to end.",
  },
  retry: {
    verb: "Retry", done: "set to run again",
    text: "They take their places behind the waiting jobs.",
  },
  drop: {
    verb: "Drop", done: "dropped",
    text: "They are forgotten with their payloads and reasons.",
  },
};

/** How long the server waits for the end of an action before it tells how far it is. */
const progressPause = 500;

/** The actions that all jobs of some filters allow. */
function actionsFor(state) {
  if (state === "failed") return ["retry", "drop"];
  return ["waiting", "delayed", "running", "buffered", "stuck"].includes(state) ? ["cancel"] : [];
}

/** Buttons for all jobs that match; none if the user may not, or the state allows none. */
export function bulkButtons(context, filters, onDone) {
  if (!context.session.may("operate") || context.absent.has("bulk")) return null;
  return actionsFor(filters.state).map((action) => h(
    `button${action === "retry" ? "" : ".grave"}`,
    { type: "button", onclick: () => openBulk(context, action, filters, onDone) },
    `${words[action].verb} all that match …`));
}

/** Counts the jobs, and asks. */
export async function openBulk(context, action, filters, onDone) {
  const { verb, text } = words[action];
  const body = h("div", {}, h("p", {}, "Counting …"));
  openDialog(`${verb} all jobs that match?`, [describe(filters), body]);
  try {
    const conditions = serverFilters(filters);
    const counted = await context.api.post("/api/bulk", { action, dry: true, ...conditions });
    fill(body, ask(context, action, filters, conditions, counted, onDone, text));
    body.querySelector("button.primary, button:last-of-type")?.focus();
  } catch (error) {
    if (error instanceof APIError && error.isAbsent) {
      context.absent.add("bulk");
      fill(body, h("p", {}, "This server does not offer it to you."), closer());
    } else {
      fill(body, h("p.answer.error", {}, error.message), closer());
    }
  }
}

function describe(filters) {
  return h("ul.conditions", {}, Object.entries(filters).map(
    ([name, value]) => h("li", {}, `${name}: `, h("b", {}, value))));
}

function closer(text = "Close") {
  return h("div.buttons", {}, h("button", { type: "button", onclick: closeDialog }, text));
}

function ask(context, action, filters, conditions, dry, onDone, text) {
  if (dry.count === 0) return [h("p", {}, "No job matches."), closer()];
  const { verb } = words[action];
  const number = counted(dry.count, "job");
  const body = h("div");
  const begin = async (event) => {
    event.target.disabled = true;
    try {
      const run = await context.api.post(
        "/api/bulk", { action, "up-to": dry["up-to"], ...conditions });
      await follow(context, action, run.id, dry.count, body, onDone);
    } catch (error) {
      fill(body, h("p.answer.error", {}, error.message), closer());
    }
  };
  fill(body,
    h("p", {}, h("b.matching", {}, number), dry.count === 1 ? " matches" : " match",
      `, up to number ${dry["up-to"]}: later ones stay as they are. ${text}`),
    commandLine(workerctl("bulk", action, ...filterOptions(filters))),
    h("div.buttons", {},
      h(`button.primary${action === "retry" ? "" : ".grave"}`, { type: "button", onclick: begin },
        `${verb} ${number}`),
      h("button", { type: "button", onclick: closeDialog }, "Leave them")));
  return body;
}

/** Shows how far the server is, until it is done or stopped. */
async function follow(context, action, id, all, body, onDone) {
  const bar = h("progress", { max: all, value: 0, "aria-label": "Progress" });
  const said = h("p.answer", { id: "answer" });
  const stop = h("button", { type: "button" }, "Stop");
  const close = h(
    "button", { type: "button", onclick: closeDialog, "aria-describedby": "answer" }, "Close");
  stop.addEventListener("click", async () => {
    stop.disabled = true;
    try {
      await context.api.post(path("/api/bulk", id, "stop"));
    } catch (error) {
      setText(said, error.message);
    }
  });
  fill(body, bar, said, h("div.buttons", {}, stop, close));
  for (;;) {
    const run = await context.api.get(`${path("/api/bulk", id)}?wait=${progressPause}`);
    bar.value = run.done + run.changed;
    setText(said, progressText(action, run, all));
    said.classList.toggle("error", run.error !== null);
    if (!run.running) break;
    // A run goes on without its dialog.
    if (!isDialogOpen() || !bar.isConnected) return onDone();
  }
  show(stop, false);
  close.focus();
  onDone();
}

function progressText(action, run, all) {
  if (run.running) return `${count(run.done)} of ${counted(all, "job")} …`;
  const parts = [`${counted(run.done, "job")} ${words[action].done}.`];
  if (run.changed > 0) {
    parts.push(`${counted(run.changed, "job")} had changed meanwhile, and stayed as they were.`);
  }
  if (run.stopped) parts.push(`Stopped before the other ${count(all - run.done - run.changed)}.`);
  if (run.error) parts.push(run.error);
  return parts.join(" ");
}
