// SPDX-License-Identifier: MIT
// All methods at the bound: a plot of what they reach, and the table.
import { h } from "../dom.js";
import { compose, extent, named, panelWidth, Plot, plot, textWidth } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";
import { cellOf, constraintOf, decider, goalOf, isFeasible, labelOf } from "../study.js";
import { scrollBox } from "../table.js";

const kSets = [
  ["holdout", "On the hold-out"],
  ["test", "On the test"],
];

export function methodsAtBound(view) {
  const { study } = view;
  const constraint = constraintOf(study);
  const hasTest = study.methods.some((method) => method.at?.some((cell) => cell?.test));
  const sets = kSets.filter(([key]) => key === "holdout" || hasTest);
  const figures = ["recall", "precision"];

  const points = () =>
    study.methods.flatMap((method) =>
      sets.flatMap(([set]) => {
        const counts = cellOf(method, view.bound)?.[set];
        return counts && isFeasible(cellOf(method, view.bound))
          ? [{ method, label: labelOf(method), set, ...counts }]
          : [];
      }),
    );

  function draw(width, palette) {
    const data = points();
    if (data.length === 0) return null;
    const columns = width < 640 ? 1 : 2;
    const each = panelWidth(width, columns);
    const names = study.methods.map(labelOf);
    const short = new Map(names.map((name) => [name, format.shorten(name, width < 520 ? 18 : 36)]));
    const margin = Math.min(width * 0.42, 12 + Math.max(...[...short.values()].map((name) => textWidth(name))));
    const color = { holdout: palette.ink, test: palette.blue };
    const shift = { holdout: hasTest ? -4 : 0, test: 4 };
    const panels = figures.map((name, index) => ({
      title: name === "recall" ? "Recall" : "Precision",
      plot: plot(palette, {
        width: columns === 1 ? width : each + (index === 0 ? 1 : -1) * Math.round((margin - 16) / 2),
        height: 34 + 27 * study.methods.length,
        marginLeft: columns === 2 && index === 1 ? 16 : margin,
        marginTop: 6,
        marginBottom: 26,
        x: {
          domain: extent(
            data
              .flatMap((point) => [point[name], ...(point[`${name}_interval`] ?? [])])
              .concat(name === constraint.key ? [study.bounds[view.bound]] : []),
            0.04,
          ),
          grid: true,
          label: null,
          ticks: width < 520 ? 3 : 5,
        },
        y: {
          domain: names,
          label: null,
          tickSize: 0,
          axis: columns === 2 && index === 1 ? null : "left",
          tickFormat: (label) => short.get(label),
        },
        marks: [
          name === constraint.key
            ? Plot.ruleX(
                [study.bounds[view.bound]],
                named(
                  { "data-bound": study.bounds[view.bound] },
                  { stroke: palette.accent, strokeDasharray: "2 2", strokeWidth: 1.5 },
                ),
              )
            : null,
          ...sets.flatMap(([set]) => {
            const own = data.filter((point) => point.set === set && point[name] !== null);
            return [
              Plot.ruleY(
                own.filter((point) => point[`${name}_interval`]),
                {
                  y: "label",
                  x1: (point) => point[`${name}_interval`][0],
                  x2: (point) => point[`${name}_interval`][1],
                  dy: shift[set],
                  stroke: color[set],
                  strokeWidth: 2,
                  strokeOpacity: 0.5,
                },
              ),
              Plot.dot(
                own,
                named(
                  { "data-set": set, "data-figure-of": name },
                  {
                    y: "label",
                    x: name,
                    dy: shift[set],
                    r: 4,
                    fill: set === "holdout" ? palette.paper : color[set],
                    stroke: color[set],
                    strokeWidth: 2,
                  },
                ),
              ),
            ];
          }),
        ],
      }),
    }));
    const legend = [{ label: "On the hold-out", color: color.holdout, kind: "ring" }];
    if (hasTest) legend.push({ label: "On the test", color: color.test, kind: "dot" });
    legend.push({ label: `Bound on ${constraint.name}`, color: palette.accent, dash: "2 2" });
    return compose({ width, palette, columns, panels, legend, gap: 12 });
  }

  const columns = [
    { name: "method", text: true },
    { name: "status", text: true },
    { name: "levels", format: format.count },
    { name: "bins", text: true },
    ...sets.flatMap(([, name]) =>
      [
        "flagged",
        "true positives",
        "precision",
        "precision low",
        "precision high",
        "recall",
        "recall low",
        "recall high",
      ].map((what) => ({
        name: `${what}, ${name.toLowerCase()}`,
        format: /flagged|true/.test(what) ? format.count : format.ratio,
      })),
    ),
    { name: "best attainable" },
    { name: "proven bound of recall", format: format.ratio },
    { name: "gap", format: format.change },
    { name: "gain on the hold-out", format: format.change },
    { name: "gain on the test", format: format.change },
    { name: "seconds" },
  ];
  const table = () => ({
    columns,
    rows: study.methods.map((method) => {
      const cell = cellOf(method, view.bound) ?? { status: "not computed" };
      const counts = (set) =>
        [
          set?.flagged,
          set?.true_positives,
          set?.precision,
          set?.precision_interval?.[0],
          set?.precision_interval?.[1],
          set?.recall,
          set?.recall_interval?.[0],
          set?.recall_interval?.[1],
        ].map((value) => value ?? null);
      return [
        labelOf(method),
        cell.status,
        method.levels ?? null,
        method.bins === null || method.bins === undefined ? null : String(method.bins),
        ...sets.flatMap(([key]) => counts(cell[key])),
        cell.best ?? null,
        cell.recall_bound ?? null,
        cell.gap ?? null,
        cell.gain?.holdout ?? null,
        cell.gain?.test ?? null,
        cell.seconds ?? null,
      ];
    }),
  });

  const picture = figure(view, {
    id: "methods",
    title: "What each method reaches at this bound",
    on: ["bound"],
    draw,
    nothing: "No method keeps this bound on the hold-out.",
    describe: () =>
      `Recall and precision of each method with ${100 * study.confidence}% intervals. ${points()
        .filter((point) => point.set === "holdout")
        .map(
          (point) => `${point.label}: recall ${format.ratio(point.recall)}, precision ${format.ratio(point.precision)}`,
        )
        .join("; ")}.`,
    note: () => `Intervals of ${format.digits(100 * study.confidence)}%.`,
    table,
  });
  return [picture, summaryTable(view, sets)];
}

/// The table for readers: figure and interval in one cell, infeasible methods named with the best that they attain.
function summaryTable(view, sets) {
  const { study } = view;
  const constraint = constraintOf(study);
  const hasTimes = study.methods.some((method) => method.at?.some((cell) => Number.isFinite(cell?.seconds)));
  const body = h("tbody", {});
  const width = 1 + sets.length * 3 + 3 + (hasTimes ? 1 : 0);
  const dash = (pair) => format.interval(pair, format.ratio, "\u2013");
  const number = (value, text, below, what) =>
    h(
      "td",
      { class: "number", "data-value": value ?? null, "data-what": what },
      h("span", {}, text),
      below ? h("small", {}, below) : null,
    );

  function shapeOf(method, cell) {
    const levels = Number.isFinite(method.levels)
      ? `${method.levels} ${method.levels === 1 ? "level" : "levels"}`
      : null;
    const bins =
      method.bins === null || method.bins === undefined
        ? null
        : method.bins === "all"
          ? "every score"
          : `${method.bins} bins`;
    const chosen = cell?.chosen ? `chose ${cell.chosen}` : cell?.status === "limit" ? "stopped at its limit" : null;
    return [chosen, levels, bins].filter(Boolean).join(", ");
  }

  function row(method) {
    const cell = cellOf(method, view.bound);
    const name = h(
      "th",
      { scope: "row", class: "text" },
      h("span", {}, labelOf(method)),
      h("small", {}, shapeOf(method, cell)),
    );
    const attributes = { "data-row": method.name, class: decider(study, view.bound) === method ? "decides" : null };
    if (!isFeasible(cell)) {
      const best =
        cell && Number.isFinite(cell.best)
          ? `: the ${constraint.least ? "highest" : "lowest"} ${constraint.name} it attains on the hold-out is ${format.ratio(cell.best)}`
          : "";
      return h(
        "tr",
        attributes,
        name,
        h(
          "td",
          { class: "text infeasible", colspan: width - 1, "data-what": "infeasible", "data-value": cell?.best ?? null },
          cell ? `Infeasible${best}` : "Not computed at this bound",
        ),
      );
    }
    return h(
      "tr",
      attributes,
      name,
      sets.map(([key]) => {
        const counts = cell[key];
        return [
          number(
            counts?.precision,
            format.ratio(counts?.precision),
            counts && dash(counts.precision_interval),
            `${key} precision`,
          ),
          number(counts?.recall, format.ratio(counts?.recall), counts && dash(counts.recall_interval), `${key} recall`),
          number(
            counts?.flagged,
            format.count(counts?.flagged),
            counts && `${format.count(counts.true_positives)} positive`,
            `${key} flagged`,
          ),
        ];
      }),
      number(
        cell.gain?.holdout,
        format.change(cell.gain?.holdout),
        sets.length > 1 ? `test ${format.change(cell.gain?.test)}` : null,
        "gain",
      ),
      number(
        cell.expected?.recall?.[0],
        dash(cell.expected?.recall),
        cell.expected ? `precision ${dash(cell.expected.precision)}` : null,
        "expected",
      ),
      number(
        cell.recall_bound,
        format.ratio(cell.recall_bound),
        Number.isFinite(cell.gap) ? `gap ${format.change(cell.gap).replace(/^\+/, "")}` : null,
        "recall bound",
      ),
      hasTimes ? number(cell.seconds, format.seconds(cell.seconds), null, "seconds") : null,
    );
  }

  const column = (name, group) => h("th", { scope: "col", class: group ?? "number" }, name);
  const head = h(
    "thead",
    {},
    h(
      "tr",
      {},
      h("td", {}),
      sets.map(([, name]) => h("th", { scope: "colgroup", colspan: 3, class: "group" }, name)),
      h("td", { colspan: hasTimes ? 4 : 3 }),
    ),
    h(
      "tr",
      {},
      column("Method", "text"),
      sets.map(() => [column("Precision"), column("Recall"), column("Flagged")]),
      column(`Gain in ${goalOf(study)}`),
      column("Expected recall"),
      column("Proven bound"),
      hasTimes ? column("Time") : null,
    ),
  );
  const fill = () => body.replaceChildren(...study.methods.map(row));
  fill();
  view.on("bound", fill);
  return h(
    "div",
    { class: "wide" },
    scrollBox(
      "Methods at this bound",
      h(
        "table",
        { class: "methods", id: "methods-table" },
        h(
          "caption",
          {},
          `Methods at this bound, with ${format.digits(100 * study.confidence)}% intervals. Proven bound: no rule of the method\u2019s levels and bins has more recall on the hold-out; gap: how far the rule is below it.`,
        ),
        head,
        body,
      ),
    ),
  );
}
