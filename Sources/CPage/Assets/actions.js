// Actions on one thread or one job: each with its sentence and its line for a shell.

import { path } from "./api.js";
import { workerctl } from "./shell.js";
import { counted } from "./text.js";

/** Keeps the jobs of a thread or pool from beginning, or lets them go on. */
export function pauseAction(api, name, isPaused) {
  const word = isPaused ? "resume" : "pause";
  return {
    roles: ["operate"],
    title: `${isPaused ? "Resume" : "Pause"} ${name}?`,
    text: isPaused
      ? "Its waiting jobs begin again, in their order."
      : "Jobs that run are finished; waiting and new jobs do not begin until it is resumed.",
    command: workerctl(word, name),
    verb: `${isPaused ? "Resume" : "Pause"} ${name}`,
    run: async () => {
      await api.post(path("/api/threads", name, word));
      return isPaused ? `${name} goes on.` : `${name} is paused.`;
    },
  };
}

const hasBegun = (state) => state === "running" || state === "stuck";

/** Takes a job back, or asks it to end. */
export function cancelAction(api, job) {
  return {
    roles: ["submit", "operate"],
    title: `Cancel job ${job.id}?`,
    text: hasBegun(job.state)
      ? "It runs: it is asked to end, and its handler decides when."
      : "It has not begun: it never runs.",
    command: workerctl("cancel", job.id),
    verb: `Cancel job ${job.id}`,
    isGrave: true,
    run: async () => {
      const { answer } = await api.post(path("/api/jobs", job.id, "cancel"));
      switch (answer) {
        case "cancelled": return `Job ${job.id} is cancelled: it never runs.`;
        case "requested": return `Job ${job.id} was asked to end.`;
        default: return `Job ${job.id} has ended already.`;
      }
    },
  };
}

/** Lets a failed job run again. */
export function retryAction(api, job) {
  return {
    roles: ["operate"],
    title: `Run job ${job.id} again?`,
    text: "It takes its place behind the waiting jobs, under the same number.",
    command: workerctl("retry", job.id),
    verb: `Retry job ${job.id}`,
    run: async () => {
      const answer = await api.post(path("/api/jobs", job.id, "retry"));
      return `${counted(answer.count, "job")} will run again.`;
    },
  };
}

/** Forgets a failed job. */
export function dropAction(api, job) {
  return {
    roles: ["operate"],
    title: `Drop job ${job.id}?`,
    text: "It is forgotten with its payload and its reason, and can't be run again.",
    command: workerctl("drop", job.id),
    verb: `Drop job ${job.id}`,
    isGrave: true,
    run: async () => {
      const answer = await api.post(path("/api/jobs", job.id, "drop"));
      return `${counted(answer.count, "job")} dropped.`;
    },
  };
}

/** The actions that a job's state allows, by the keys that do them. */
export function jobActions(api, job) {
  switch (job.state) {
    case "delayed": case "buffered": case "waiting": case "running": case "stuck":
      return { x: cancelAction(api, job) };
    case "failed":
      return { r: retryAction(api, job), x: dropAction(api, job) };
    default:
      return {};
  }
}
