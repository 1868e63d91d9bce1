// Server-sent events, read by fetch: EventSource could not send the key in a field.

/**
 * Reads messages until the stream ends.
 *
 * @param {ReadableStream} body
 * @param {(message: {event: string, id: string, data: string}) => void} onMessage
 * @param {() => void} onBytes called for everything that comes, heartbeats among it.
 */
export async function readEvents(body, onMessage, onBytes) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let message = empty();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    onBytes();
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (message.data !== "") onMessage(message);
        message = empty();
      } else {
        take(line, message);
      }
    }
  }
}

function empty() {
  return { event: "message", id: "", data: "" };
}

/** Adds a line to a message; a comment, which begins with a colon, adds nothing. */
function take(line, message) {
  const colon = line.indexOf(":");
  if (colon === 0) return;
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "event" || name === "id") message[name] = value;
  if (name === "data") message.data += message.data === "" ? value : "\n" + value;
}
