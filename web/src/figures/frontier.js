// SPDX-License-Identifier: MIT
// The precision-recall frontier of rules with two columns, and of one threshold.
import { boundRule, compose, extent, named, Plot, plot, tipStyle } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";
import { lineOf } from "../palette.js";
import { cellOf, constraintOf, decider, labelOf, singleThreshold } from "../study.js";

export function frontier(view) {
  const { study } = view;
  const { st, surface, confidence } = study.frontier;
  const constraint = constraintOf(study);
  const pointsOf = (curve, name) =>
    (curve?.precision ?? []).map((precision, at) => ({
      name,
      precision,
      recall: curve.recall[at],
      low: curve.low?.[at] ?? null,
      high: curve.high?.[at] ?? null,
    }));
  const curves = [
    { key: "st", name: "One threshold", points: pointsOf(st, "one threshold") },
    { key: "surface", name: "Score and uncertainty", points: pointsOf(surface, "score and uncertainty") },
  ];
  const all = curves.flatMap((curve) => curve.points);

  function chosen() {
    const methods = [singleThreshold(study), decider(study, view.bound)].filter(Boolean);
    return methods
      .map((method) => ({ method, counts: cellOf(method, view.bound)?.holdout }))
      .filter(({ counts }) => counts && counts.precision !== null)
      .map(({ method, counts }) => ({
        name: labelOf(method),
        key: method.name,
        precision: counts.precision,
        recall: counts.recall,
      }));
  }

  function draw(width, palette) {
    if (all.length === 0) return null;
    const colors = { st: lineOf(study, "st", palette), surface: lineOf(study, study.methods[0]?.name, palette) };
    const dots = chosen();
    const chart = plot(palette, {
      width,
      height: width < 520 ? 300 : 400,
      marginRight: 20,
      x: {
        domain: extent(
          [
            ...all.map((point) => point.precision),
            ...dots.map((dot) => dot.precision),
            ...(constraint.key === "precision" ? study.bounds : []),
          ],
          0.01,
        ),
        label: "precision \u2192",
        labelAnchor: "right",
        ticks: width < 520 ? 5 : 9,
      },
      y: {
        domain: [0, Math.max(...all.map((point) => point.high ?? point.recall), ...dots.map((dot) => dot.recall))],
        label: "\u2191 recall",
        grid: true,
        nice: true,
      },
      marks: [
        ...curves.flatMap(({ key, points }) => [
          points.some((point) => point.low !== null)
            ? Plot.areaY(points, { x: "precision", y1: "low", y2: "high", fill: colors[key].color, fillOpacity: 0.16 })
            : null,
          Plot.line(
            points,
            named(
              { "data-curve": key },
              {
                x: "precision",
                y: "recall",
                stroke: colors[key].color,
                strokeWidth: 2.2,
                strokeDasharray: colors[key].dash || undefined,
              },
            ),
          ),
        ]),
        constraint.key === "precision"
          ? boundRule(study.bounds[view.bound], palette, "x", format.bound(study.bounds[view.bound]))
          : constraint.key === "recall"
            ? boundRule(study.bounds[view.bound], palette, "y")
            : null,
        Plot.dot(
          dots,
          named(
            { "data-dots": "" },
            {
              x: "precision",
              y: "recall",
              r: 6,
              fill: (dot) => lineOf(study, dot.key, palette).color,
              stroke: palette.paper,
              strokeWidth: 2,
            },
          ),
        ),
        Plot.tip(
          all,
          Plot.pointer({
            x: "precision",
            y: "recall",
            ...tipStyle(palette),
            title: (point) =>
              `${point.name}\nprecision ${format.ratio(point.precision)}\nrecall ${format.ratio(point.recall)}\n${format.interval([point.low, point.high])}`,
          }),
        ),
      ],
    });
    const legend = [
      { label: "Score and uncertainty", color: colors.surface.color, width: 2.2 },
      { label: "One threshold", color: colors.st.color, dash: colors.st.dash, width: 2.2 },
      { label: "Rules at this bound", color: colors.surface.color, kind: "dot" },
    ];
    return compose({ width, palette, legend, panels: [{ plot: chart }] });
  }

  return figure(view, {
    id: "frontier",
    title: "Recall against precision on the hold-out",
    on: ["bound"],
    draw,
    describe: () =>
      `Two curves of recall against precision, of one threshold and of rules with score and uncertainty, with ${100 * confidence}% bands of recall. ${chosen()
        .map(
          (dot) =>
            `${dot.name} at this bound: precision ${format.ratio(dot.precision)}, recall ${format.ratio(dot.recall)}`,
        )
        .join("; ")}.`,
    note: () =>
      `Bands are ${format.digits(100 * confidence)}% intervals of recall. The upper curve is of all uncertainty levels and every threshold, chosen on these rows.`,
    table: () => ({
      columns: [
        { name: "curve", text: true },
        { name: "precision", format: format.ratio },
        { name: "recall", format: format.ratio },
        { name: "low", format: format.ratio },
        { name: "high", format: format.ratio },
      ],
      rows: all.map((point) => [point.name, point.precision, point.recall, point.low, point.high]),
    }),
  });
}
