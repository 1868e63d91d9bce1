// The stream of the server's state: connected while the page is seen, begun anew with a snapshot
// when it breaks. Nothing is asked for again and again.

import { readEvents } from "./eventStream.js";
import { LiveState } from "./liveState.js";

/** A heartbeat comes each 15 s, so a longer silence means that the connection is gone. */
const silenceMax = 20_000;
const retryMin = 1_000;
const retryMax = 15_000;

/** The connection, and the state that it brings. */
export class Live {
  state = new LiveState();
  /** "connecting" until the first snapshot, "live", or "stale" with numbers of the past. */
  freshness = "connecting";
  /** Why there is no connection, if the server said so. */
  reason = "";
  #api;
  #listeners = new Set();
  #attempt = null;
  #failures = 0;
  #lastBytes = performance.now();
  #timer = null;

  constructor(api) {
    this.#api = api;
  }

  /** For how long nothing came from the server. */
  get silence() {
    return performance.now() - this.#lastBytes;
  }

  /**
   * Calls `listener` with the names of changed rows, with null for a snapshot, and with undefined
   * when only the freshness changed.
   *
   * @returns a function that ends it.
   */
  on(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start() {
    document.addEventListener("visibilitychange", this.#look);
    this.#look();
  }

  stop() {
    document.removeEventListener("visibilitychange", this.#look);
    this.#disconnect();
  }

  #look = () => {
    if (document.hidden) this.#disconnect();
    else if (this.#attempt === null) this.#connect();
  };

  #disconnect() {
    clearTimeout(this.#timer);
    this.#attempt?.abort();
    this.#attempt = null;
    this.#become("stale");
  }

  async #connect() {
    const attempt = new AbortController();
    this.#attempt = attempt;
    this.#watch(attempt);
    try {
      const response = await this.#api.open("/api/live", {}, attempt.signal);
      await readEvents(
        response.body, (message) => this.#take(message), () => this.#heard(attempt));
      this.reason ||= "the server closed the connection";
    } catch (error) {
      this.reason = error.word ? error.message : "";
    }
    clearTimeout(this.#timer);
    if (this.#attempt !== attempt) return;
    this.#become("stale");
    this.#failures += 1;
    const pause = Math.min(retryMax, retryMin * 2 ** (this.#failures - 1));
    this.#timer = setTimeout(() => this.#connect(), pause * (0.75 + Math.random() / 2));
  }

  #heard(attempt) {
    this.#lastBytes = performance.now();
    this.#watch(attempt);
  }

  /** Ends a connection that says nothing. */
  #watch(attempt) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => attempt.abort(), silenceMax);
  }

  #take(message) {
    const data = JSON.parse(message.data);
    if (message.event === "snapshot") {
      this.#failures = 0;
      this.reason = "";
      this.state.takeSnapshot(data);
      this.freshness = "live";
      this.#tell(null);
    } else if (message.event === "change") {
      this.#tell(this.state.takeChange(data));
    } else if (message.event === "end") {
      this.reason = data.reason === "shutting-down" ? "workerd goes down" : "";
    }
  }

  #become(freshness) {
    if (this.freshness === freshness) return;
    // Without a snapshot there is nothing that could be stale.
    this.freshness = this.state.time === 0 ? "connecting" : freshness;
    this.#tell(undefined);
  }

  #tell(change) {
    for (const listener of this.#listeners) listener(change);
  }
}
