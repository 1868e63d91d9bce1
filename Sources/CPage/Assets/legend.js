// The legend: the meaning of the shapes of the lanes.

import { h, svg } from "./dom.js";
import { markPath } from "./laneDrawing.js";

function sign(kind, path) {
  return svg(
    "svg", { viewBox: "0 0 16 16", "aria-hidden": "true", class: "drawing" },
    svg("path", { class: kind, d: path }));
}

/** A list that opens at a click. */
export function legend() {
  const rows = [
    [sign("done", "M3 14V8H6V14ZM8 14V4H11V14Z"), "attempts that succeeded, in 5 s"],
    [sign("mark failed", markPath("failed", 8, 8, 5)), "failed"],
    [sign("mark timed-out", markPath("timed-out", 8, 8, 5)), "out of time"],
    [sign("mark cancelled", markPath("cancelled", 8, 8, 4)), "cancelled"],
    [sign("mark expired", markPath("expired", 8, 8, 4)), "expired"],
    [sign("long", "M1 8H15"), "longest job of a bucket, from its beginning to its end"],
    [sign("running", "M1 4H11L15 8L11 12H1Z"), "running job; a tick where it usually ends (p99)"],
    [h("span.sample", { "data-state": "paused" }), "paused"],
    [h("span.sample", { "data-state": "held" }),
      "held up by a job with BLOCK, or by a missing worker"],
  ];
  return h("details.legend", {}, h("summary", {}, "Legend"),
    h("ul", {}, rows.map(([shape, text]) => h("li", {}, shape, h("span", {}, text)))));
}
