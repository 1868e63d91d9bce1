// Requests to the server. The key travels in the field Authorization and nowhere else.

/** An answer that is an error: its word for programs and its sentence for people. */
export class APIError extends Error {
  constructor(status, word, message) {
    super(message);
    this.status = status;
    this.word = word;
  }

  /** Whether this server does not have, or this user may not see, what was asked for. */
  get isAbsent() {
    return this.word === "NOPERM" || this.status === 403
      || (this.status === 404 && this.word === "ERR");
  }
}

/** The server that the page came from, asked with one key. */
export class API {
  #key;
  #onLostKey;

  /**
   * @param {string} key
   * @param {() => void} onLostKey called when the server refuses the key.
   */
  constructor(key, onLostKey = () => {}) {
    this.#key = key;
    this.#onLostKey = onLostKey;
  }

  /** The answer to a GET, as JSON. */
  async get(path, query = {}, signal = undefined) {
    const response = await this.open(path, query, signal);
    return response.json();
  }

  /** The response to a GET, whose body has not been read. */
  open(path, query = {}, signal = undefined) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== null && value !== undefined && value !== "") parameters.set(name, value);
    }
    const text = parameters.toString();
    return this.#send(text ? `${path}?${text}` : path, { signal });
  }

  /** The answer to a change, as JSON. */
  async post(path, body = {}) {
    const response = await this.#send(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    return response.json();
  }

  async #send(path, options) {
    const headers = { ...options.headers };
    if (this.#key) headers.Authorization = `Bearer ${this.#key}`;
    const response = await fetch(path, {
      ...options, headers, cache: "no-store", credentials: "omit", redirect: "manual",
    });
    if (response.ok) return response;
    // The only redirection there is: the key is not for another server, and its address is hidden.
    if (response.type === "opaqueredirect") {
      throw new APIError(307, "ERR", "another node has it: ask there; Workers lists the nodes");
    }
    const error = await response.json().catch(() => ({}));
    if (response.status === 401) this.#onLostKey();
    throw new APIError(
      response.status, error.error ?? "", error.message ?? `the server answers ${response.status}`);
  }
}

/** A path whose parts may hold any character: `path("/api/threads", "mail/1")`. */
export function path(base, ...parts) {
  return base + parts.map((part) => "/" + encodeURIComponent(part)).join("");
}
