// SPDX-License-Identifier: MIT
// The theory: by how much a score says too much, by evidence and undersampling.
import { compose, extent, named, panelWidth, Plot, plot, tipStyle } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";
import { levelColors } from "../palette.js";

export function biasCurves(view) {
  const { bias } = view.study;
  const taus = [...new Set(bias.curves.map((curve) => curve.tau))];
  const evidences = [...new Set(bias.curves.map((curve) => curve.evidence))];
  const points = bias.curves.flatMap((curve) =>
    curve.points.map((point) => ({ tau: curve.tau, evidence: curve.evidence, ...point })),
  );

  function draw(width, palette) {
    const known = points.filter((point) => point.bias !== null);
    if (known.length === 0) return null;
    const columns = Math.min(taus.length, width < 480 ? 1 : width < 760 ? 2 : 3);
    const colors = levelColors(evidences.length, palette);
    const dashes = ["2 2", "6 3", "12 3", ""];
    const dash = (at) => dashes[Math.max(0, dashes.length - evidences.length + at)] || undefined;
    const panels = taus.map((tau) => ({
      title:
        tau === 1
          ? "No undersampling (\u03c4 = 1)"
          : `Negatives kept at 1/${format.digits(tau)} (\u03c4 = ${format.digits(tau)})`,
      plot: plot(palette, {
        width: panelWidth(width, columns),
        height: 250,
        marginTop: 12,
        marginLeft: 46,
        x: { domain: [0, 1], label: "score \u2192", ticks: 5 },
        y: { domain: extent([0, ...known.map((point) => point.bias)]), grid: true, label: null },
        marks: [
          Plot.ruleY([0], { stroke: palette.soft }),
          ...evidences.map((evidence, at) =>
            Plot.line(
              known.filter((point) => point.tau === tau && point.evidence === evidence),
              named(
                { "data-curve": `${tau} ${evidence}` },
                { x: "score", y: "bias", stroke: colors[at], strokeWidth: 2.2, strokeDasharray: dash(at) },
              ),
            ),
          ),
          Plot.tip(
            known.filter((point) => point.tau === tau),
            Plot.pointer({
              x: "score",
              y: "bias",
              ...tipStyle(palette),
              title: (point) =>
                `score ${format.digits(point.score)}, ${format.count(point.evidence)} training rows\nexpected positivity ${format.ratio(point.expected_positivity)}\nbias ${format.ratio(point.bias)}`,
            }),
          ),
        ],
      }),
    }));
    return compose({
      width,
      palette,
      columns,
      panels,
      legend: evidences.map((evidence, at) => ({
        label: `${format.count(evidence)} training rows`,
        color: colors[at],
        dash: dash(at),
        width: 2.2,
      })),
    });
  }

  return figure(view, {
    id: "bias",
    title: "Bias of the score: score less expected positivity",
    draw,
    nothing: "No score has a bias under these priors.",
    describe: () =>
      `Curves of the bias against the score, for ${evidences.map(format.count).join(", ")} training rows behind a score, one plot for each rate of undersampling: ${taus.map((tau) => format.digits(tau)).join(", ")}.`,
    note: () =>
      `By theory, with a prior share of positives of ${format.digits(bias.xi)} worth ${format.digits(bias.prior_strength)} rows; the model's prior: ${format.digits(bias.omega)}, ${format.digits(bias.model_strength)} rows.`,
    table: () => ({
      columns: [
        { name: "tau" },
        { name: "training rows", format: format.count },
        { name: "score" },
        { name: "positivity in training", format: format.ratio },
        { name: "expected positivity", format: format.ratio },
        { name: "bias", format: format.ratio },
      ],
      rows: points.map((point) => [
        point.tau,
        point.evidence,
        point.score,
        point.train_positivity,
        point.expected_positivity,
        point.bias,
      ]),
    }),
  });
}
