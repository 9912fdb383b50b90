// SPDX-License-Identifier: MIT
// Elements are made here and nowhere else. Text from a study only ever becomes a text node or the value of a harmless
// attribute: nothing is parsed as HTML.

const kSvg = "http://www.w3.org/2000/svg";
const kForbidden = /^(on|href|src|style$|xlink)/i;

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (kForbidden.test(name)) throw new Error(`dom: attribute ${name}`);
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/// An HTML element; children are nodes and texts, lists of them, or null.
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/// An SVG element.
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(kSvg, tag), attributes, children);
}

/// A link to a place on this page, which has no other links.
export function anchor(id, text) {
  const link = h("a", {}, text);
  link.setAttribute("href", `#${id}`);
  return link;
}
