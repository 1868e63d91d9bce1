// Why a job has not begun: in a sentence, from what the server says of the job and its thread.

import { h } from "./dom.js";
import { distance, jobLink, threadLink } from "./parts.js";
import { counted, duration, plain } from "./text.js";

/** So many waiting jobs are looked at to find the place of one. */
const lookedAtMax = 1_000;
const ranks = { high: 0, normal: 1, low: 2 };

/**
 * How many jobs of its queue begin before a job: those of a higher priority, and those of the same
 * with smaller numbers.
 *
 * @returns `{ahead, isLeast}`; `isLeast` if there may be more.
 */
export async function placeInQueue(api, job) {
  const { jobs } = await api.get("/api/jobs", {
    thread: job.thread, state: "waiting", order: "oldest", limit: lookedAtMax,
  });
  const ahead = jobs.filter((other) => other.id !== job.id
    && (ranks[other.priority] < ranks[job.priority]
      || (other.priority === job.priority && other.id < job.id)));
  return { ahead: ahead.length, isLeast: jobs.length === lookedAtMax };
}

/** The threads that may run a job. */
function threadsFor(job, state) {
  const thread = state.threads.get(job.thread);
  return thread ? [thread] : state.threadsOf(job.thread);
}

/** The reasons as parts of a sentence, or null if the job does not wait. */
export function waitingReasons(job, state, place) {
  const now = state.now();
  const threads = threadsFor(job, state);
  if (job.state === "delayed") {
    const again = job.attempt > 0 ? `tried again after attempt ${job.attempt}: ` : "";
    return [`not due: ${again}${job["due-at"] ? distance(job["due-at"], now) : "soon"}`];
  }
  if (job.state === "buffered") return ["collected until FIRE of its thread"];
  if (job.state !== "waiting") return null;
  const reasons = [];
  if (threads.length === 0) reasons.push("its thread is configured no more");
  const isPaused = (thread) => thread.state === "paused" || thread.state === "pausing";
  if (threads.length > 0 && threads.every(isPaused)) {
    reasons.push([threadLink(job.thread), " is paused"]);
  }
  if (job["held-by"]) {
    const until = job["held-until"]
      ? `, which is tried again ${distance(job["held-until"], now)}` : "";
    reasons.push(["held up by ", jobLink(job["held-by"], `job ${job["held-by"]}`), until]);
  }
  if (job["waits-for"]) reasons.push(`no ${plain(job["waits-for"])} is free to take it`);
  if (place && place.ahead > 0) {
    reasons.push(`behind ${place.isLeast ? "at least " : ""}${counted(place.ahead, "job")}`);
  }
  reasons.push(...running(threads, now));
  return reasons.length > 0 ? reasons : ["it is next"];
}

/** What a single thread is busy with. */
function running(threads, now) {
  if (threads.length !== 1 || !threads[0].job) return [];
  const { job, state } = threads[0];
  const word = state === "stuck" ? "hangs" : "runs";
  return [[jobLink(job.id, `job ${job.id}`), ` ${word} for ${duration(now - job.since)}`]];
}

/** The reasons as one sentence. */
export function waitingSentence(reasons) {
  return h("span", {}, reasons.map((reason, index) => [index > 0 ? "; " : "", reason]));
}
