// SPDX-License-Identifier: MIT
// Positivity against score, one small plot for each uncertainty level, the other levels behind it.
import { compose, extent, named, panelWidth, Plot, plot } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";
import { levelColors } from "../palette.js";

export function positivityByLevel(view) {
  const { study } = view;
  const map = study.positivity;
  const levels = map.rate.length;
  const edges = [map.uncertainty_range[0], ...map.uncertainty_edges, map.uncertainty_range[1]];
  const points = map.rate.map((row, level) =>
    row
      .map((rate, bin) => ({
        level,
        bin,
        rate,
        score: map.mean_score[level][bin],
        low: map.low[level][bin],
        high: map.high[level][bin],
        rows: map.rows[level][bin],
        few: map.rows[level][bin] < map.few,
      }))
      .filter((point) => point.rate !== null && point.score !== null)
      .sort((a, b) => a.score - b.score),
  );
  const all = points.flat();
  const sure = all.filter((point) => !point.few);
  const many = points.some((level) => level.length > 80);

  function draw(width, palette) {
    if (all.length === 0) return null;
    const columns = Math.min(levels, width < 280 ? 1 : width < 640 ? 2 : levels <= 4 ? Math.min(levels, 3) : 4);
    const narrow = width < 480;
    const each = panelWidth(width, columns, narrow ? 12 : 24);
    const colors = levelColors(levels, palette);
    const top = Math.max(...(sure.length > 0 ? sure : all).map((point) => point.high ?? point.rate));
    const panels = points.map((own, level) => ({
      title: `${narrow ? "" : "Level "}${level + 1}: ${format.digits(edges[level], 3)} to ${format.digits(edges[level + 1], 3)}`,
      plot: plot(palette, {
        width: each,
        height: narrow ? 140 : 168,
        marginLeft: narrow ? 28 : 36,
        marginRight: 8,
        marginTop: 8,
        marginBottom: level + columns >= levels ? 43 : 24,
        x: {
          domain: extent(
            all.map((point) => point.score),
            0.01,
          ),
          ticks: narrow ? 3 : 4,
          tickSize: 3,
          label: level + columns >= levels ? "mean score \u2192" : null,
        },
        y: { domain: [0, top], ticks: 4, tickSize: 3, label: null, grid: true },
        marks: [
          Plot.line(
            sure.filter((point) => point.level !== level),
            { x: "score", y: "rate", z: "level", stroke: palette.faint, strokeWidth: 0.8, strokeOpacity: 0.9 },
          ),
          many
            ? Plot.areaY(own, { x: "score", y1: "low", y2: "high", fill: colors[level], fillOpacity: 0.28, clip: true })
            : Plot.ruleX(own, {
                x: "score",
                y1: "low",
                y2: "high",
                stroke: colors[level],
                strokeWidth: 1.4,
                strokeOpacity: (point) => (point.few ? 0.25 : 0.6),
                clip: true,
              }),
          Plot.line(
            many ? own : own.filter((point) => !point.few),
            named(
              { "data-level": level },
              { x: "score", y: "rate", stroke: colors[level], strokeWidth: many ? 1 : 2, clip: true },
            ),
          ),
          many
            ? null
            : Plot.dot(own, {
                x: "score",
                y: "rate",
                r: 2.2,
                fill: (point) => (point.few ? palette.paper : colors[level]),
                stroke: colors[level],
                strokeWidth: 1,
                strokeOpacity: (point) => (point.few ? 0.5 : 1),
                clip: true,
              }),
        ],
      }),
    }));
    return compose({ width, panels, columns, palette });
  }

  return figure(view, {
    id: "positivity-by-level",
    title: "Share of positives against the score, level by level",
    draw,
    describe: () =>
      `${levels} small plots, one for each uncertainty level, of the share of positives against the mean score of a bin with ${100 * study.confidence}% intervals; the other levels are drawn faintly behind.`,
    note: () =>
      `Each plot is named by its level and the range of its uncertainty. ${many ? "Bands" : "Bars"} are ${format.digits(100 * study.confidence)}% intervals; the faint lines are the other levels.${many ? "" : ` Hollow points are of fewer than ${map.few} rows.`}`,
    table: () => ({
      columns: [
        { name: "level" },
        { name: "bin" },
        { name: "mean score" },
        { name: "rows", format: format.count },
        { name: "share of positives", format: format.ratio },
        { name: "low", format: format.ratio },
        { name: "high", format: format.ratio },
      ],
      rows: all.map((point) => [
        point.level + 1,
        point.bin + 1,
        point.score,
        point.rows,
        point.rate,
        point.low,
        point.high,
      ]),
    }),
  });
}
