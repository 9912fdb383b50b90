// SPDX-License-Identifier: MIT
// Tables: {caption, columns: [{name, format, text}], rows: [[value, ...]]}. A column is of numbers (right-aligned, with its
// format) or of text. The same table is shown and saved as CSV, there with all digits.
import { h } from "./dom.js";
import { digits } from "./format.js";

export function tableElement({ caption, columns, rows }) {
  const shown = (column, value) => (column.text ? (value ?? "\u2013") : (column.format ?? digits)(value));
  const cell = (value, at) => {
    const column = columns[at];
    const text = value instanceof Node ? value : String(shown(column, value));
    const attributes = {
      class: column.text ? "text" : "number",
      "data-value": column.text || value === null ? null : value,
    };
    return at === 0 && column.text ? h("th", { scope: "row", class: "text" }, text) : h("td", attributes, text);
  };
  return h(
    "table",
    {},
    h("caption", {}, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        columns.map((column) => h("th", { scope: "col", class: column.text ? "text" : "number" }, column.name)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) => h("tr", {}, row.map(cell))),
    ),
  );
}

/// A box in which a wide table scrolls, by keyboard too.
export function scrollBox(label, ...children) {
  return h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": label }, ...children);
}
