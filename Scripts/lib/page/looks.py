"""What can be said of the looks of the page without looking: contrast, width, motion, focus."""

# The lowest contrast of a visible text with what is behind it (WCAG 2.2, 1.4.3): 4.5, or 3 if it is
# large.
CONTRAST = """
const channel = (value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255)
  + 0.0722 * channel(b / 255);
const parse = (text) => {
  const numbers = text.match(/[\\d.]+/g).map(Number);
  return { rgb: numbers.slice(0, 3), alpha: numbers.length > 3 ? numbers[3] : 1 };
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const { rgb, alpha } = parse(getComputedStyle(at).backgroundColor);
    if (alpha === 1) return rgb;
  }
  return parse(getComputedStyle(document.documentElement).backgroundColor).rgb;
};
const faults = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
  if (element.closest(".spoken, .skip, noscript, option, button:disabled")) continue;
  const style = getComputedStyle(element);
  const [one, other] = [luminance(parse(style.color).rgb), luminance(behind(element))];
  const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  const size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (isLarge ? 3 : 4.5)) {
    faults.push(`${walker.currentNode.data.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
}
return faults;
"""

# Things that a keyboard or a screen reader would miss.
NAMES = """
const faults = [];
for (const element of document.querySelectorAll("button, a[href], input, [role=region]")) {
  if (!element.checkVisibility()) continue;
  const label = element.innerText || element.getAttribute("aria-label")
    || element.labels?.[0]?.innerText || "";
  if (!label.trim()) faults.push(`without a name: ${element.outerHTML.slice(0, 80)}`);
  if (element.tabIndex < 0) faults.push(`not in the focus order: ${element.outerHTML.slice(0, 80)}`);
}
for (const element of document.querySelectorAll("[onclick]")) faults.push(element.outerHTML);
return faults;
"""

VIEWS = ["threads", "threads/ledger", "failures", "jobs", "jobs?state=failed", "jobs/{running}",
         "jobs/{flaky}", "schedules", "workers"]


def each_view(tour, views=None):
    for view in views or VIEWS:
        tour.go(view.format(**tour.jobs))
        browser = tour.browser
        browser.until(f"the view {view}", lambda: browser.is_seen(
            "main .lane .drawing, main tbody tr, main .story li, main .nothing"))
        yield view


def check_contrast(tour, views=None):
    for scheme in ("light", "dark"):
        tour.browser.prefer(prefers_color_scheme=scheme)
        for view in each_view(tour, views):
            faults = tour.browser.run(CONTRAST)
            tour.check(f"each text has enough contrast: {view}, {scheme}", not faults, faults)
    ground = tour.browser.run("return getComputedStyle(document.body).backgroundColor")
    tour.check("dark is dark", ground == "rgb(19, 21, 25)", ground)
    tour.browser.prefer(prefers_color_scheme="light")


def check_names(tour, views=None):
    for view in each_view(tour, views):
        faults = tour.browser.run(NAMES)
        tour.check(f"each control has a name and a place in the order: {view}", not faults, faults)


def check_narrow(tour, views=None):
    tour.browser.resize(320, 700)
    for view in each_view(tour, views):
        wide = tour.browser.run("""
            const page = document.documentElement;
            return page.scrollWidth <= 320 ? [] : [...document.querySelectorAll("body *")].filter(
              e => e.getBoundingClientRect().right > 321 && !e.closest(".scroll, #views, pre"))
              .map(e => e.outerHTML.slice(0, 80))""")
        tour.check(f"nothing is wider than 320 pixels: {view}", not wide, wide)
    tour.browser.resize(1200, 1100)


def check_motion(tour):
    tour.browser.prefer(prefers_reduced_motion="reduce")
    tour.go("threads")
    tour.check("nothing moves for people who want less motion",
               tour.browser.run("return document.getAnimations().length") == 0)
    tour.browser.prefer()
