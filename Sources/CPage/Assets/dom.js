// Makes elements. Text only ever becomes text: nothing here reads markup, so a payload or a reason
// with tags in it is shown as it was written.

/** The namespace of SVG, taken from the page's own element. */
const svgNamespace = document.getElementById("shapes").namespaceURI;

/**
 * An element of HTML.
 *
 * @param {string} name a tag, with classes: `p.note.small`.
 * @param {object} attributes by name; functions are listeners (`onclick`), false and null are left
 *     out.
 * @param {...(Node|string|number|null|Array)} children text and elements.
 */
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  return furnish(element, attributes, children);
}

/** An element of SVG. */
export function svg(name, attributes = {}, ...children) {
  return furnish(document.createElementNS(svgNamespace, name), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Puts new children in place of the present ones. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/**
 * Makes the contents of an element like new ones, and leaves alone all that is the same: what has
 * the focus or is selected stays so. For contents without listeners.
 */
export function morph(element, ...children) {
  const wanted = element.cloneNode(false);
  append(wanted, children);
  morphChildren(element, wanted);
}

function morphChildren(present, wanted) {
  const [old, fresh] = [[...present.childNodes], [...wanted.childNodes]];
  fresh.forEach((node, index) => {
    const before = old[index];
    if (before === undefined) present.append(node);
    else if (!before.isEqualNode(node)) morphNode(before, node);
  });
  for (const node of old.slice(fresh.length)) node.remove();
}

function morphNode(before, node) {
  if (before.nodeName !== node.nodeName) return before.replaceWith(node);
  if (before.nodeType === Node.TEXT_NODE) {
    before.data = node.data;
    return;
  }
  for (const { name } of [...before.attributes]) {
    if (!node.hasAttribute(name)) before.removeAttribute(name);
  }
  for (const { name, value } of node.attributes) before.setAttribute(name, value);
  morphChildren(before, node);
}

/** Whether a person has selected text in an element. */
export function isSelected(element) {
  const selection = getSelection();
  return !selection.isCollapsed && element.contains(selection.anchorNode);
}

/** Changes an element's text only if it differs, so that screen readers hear of changes only. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows or hides an element. */
export function show(element, isShown) {
  element.hidden = !isShown;
}
