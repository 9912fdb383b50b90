// SPDX-License-Identifier: MIT
// What the study was made of, and the command that makes it again.
import { h } from "../dom.js";
import * as format from "../format.js";
import { scrollBox } from "../table.js";

export function dataAndSettings(view) {
  const { data = {}, settings, command, limen, confidence, certified_confidence: certified } = view.study;
  const tables = [
    ["Hold-out", data.holdout],
    ["Test", data.test],
  ].filter(([, table]) => table);
  const copy = h("button", { type: "button" }, "Copy the command");
  const copied = h("span", { role: "status", class: "copied" });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
      copied.textContent = "Copied.";
    } catch {
      copied.textContent = "It cannot be copied from here; please select it.";
    }
  });
  const row = (name, value) =>
    h("tr", {}, h("th", { scope: "row", class: "text" }, name), h("td", { class: "text" }, value));
  const columns = Object.entries(data.columns ?? {}).filter(([, name]) => name !== null);
  return [
    tables.length > 0
      ? scrollBox(
          "Data",
          h(
            "table",
            {},
            h("caption", {}, "Data"),
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ["", "name", "rows", "positives", "rows dropped", "weights"].map((name, at) =>
                  name === "" ? h("td", {}) : h("th", { scope: "col", class: at > 1 ? "number" : "text" }, name),
                ),
              ),
            ),
            h(
              "tbody",
              {},
              tables.map(([name, table]) =>
                h(
                  "tr",
                  {},
                  h("th", { scope: "row", class: "text" }, name),
                  h("td", { class: "text" }, table.name),
                  h("td", { class: "number" }, format.count(table.rows)),
                  h("td", { class: "number" }, format.count(table.positives)),
                  h("td", { class: "number" }, format.count(table.rows_dropped)),
                  h("td", { class: "number" }, table.weighted ? "yes" : "no"),
                ),
              ),
            ),
          ),
        )
      : null,
    h(
      "div",
      { class: "pair" },
      columns.length > 0
        ? scrollBox(
            "Columns",
            h(
              "table",
              {},
              h("caption", {}, "Columns"),
              h(
                "tbody",
                {},
                columns.map(([role, name]) => row(role, name)),
                row(
                  "larger uncertainty",
                  data.larger_is_less_certain === false ? "is more certain" : "is less certain",
                ),
              ),
            ),
          )
        : null,
      scrollBox(
        "Settings",
        h(
          "table",
          {},
          h("caption", {}, "Settings"),
          h(
            "tbody",
            {},
            (settings ?? []).map(({ name, value }) => row(name, String(value))),
            row("confidence of intervals", format.bound(confidence)),
            row("confidence of guarantees", certified === null ? "none asked for" : format.bound(certified)),
            row("limen", limen ?? "\u2013"),
          ),
        ),
      ),
    ),
    command
      ? h(
          "div",
          { class: "command" },
          h("p", {}, "This command makes the study again:"),
          scrollBox("Command", h("pre", {}, h("code", {}, command))),
          h("p", { class: "tools" }, copy, " ", copied),
        )
      : null,
  ];
}
