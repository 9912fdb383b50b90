// SPDX-License-Identifier: MIT
// Whether the promise held in deployment: the figure with what is certain of it, and the evidence against the promise.
import { h } from "../dom.js";
import { compose, extent, logAxis, named, panelWidth, Plot, plot } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";

export function monitorPath(view) {
  const { result, path = [] } = view.study.monitor;
  const moment = (at) => `row ${format.count(at.row)}${at.time ? ` (${at.time})` : ""}`;
  const verdict = `${format.sentence(result.verdict)} On ${format.count(result.rows)} rows of deployment, ${result.constraint} is ${format.ratio(result.figure)} in ${format.count(result.tested)} tested rows, certain to be between ${format.ratio(result.figure_low)} and ${format.ratio(result.figure_high)}; bound ${format.bound(result.bound)}.`;
  const broken = result.broken
    ? ` Most likely since ${moment(result.broken.since)}; noticed at ${moment(result.broken.noticed)}. Since then ${format.ratio(result.broken.figure)}.`
    : "";
  const more = Number.isFinite(result.more_needed)
    ? ` About ${format.count(result.more_needed)} more tested rows are needed.`
    : "";
  const drift = [
    ["Flag rate", result.flag_rate],
    ["Levels", result.levels],
  ]
    .filter(([, part]) => part?.drift)
    .map(([name, part]) => ` ${name} drifted since row ${format.count(part.drift.since_row)}.`)
    .join("");
  const said = h("p", { class: "said" }, `${verdict}${broken}${more}${drift}`);
  const points = (path ?? []).filter((point) => point.rows !== null);
  if (points.length === 0) return [said];

  function draw(width, palette) {
    const columns = width < 640 ? 1 : 2;
    const x = {
      domain: extent(
        points.map((point) => point.rows),
        0.01,
      ),
      label: "rows \u2192",
      ticks: 5,
      tickFormat: format.count,
    };
    const since = result.broken ? [result.broken.since.row] : [];
    const alarm = 1 / result.alpha;
    const breaks = Plot.ruleX(since, named({ "data-since": "" }, { stroke: palette.ink, strokeWidth: 1.2 }));
    const common = { width: panelWidth(width, columns), height: 270, marginTop: 12, x };
    const panels = [
      {
        title: `${format.capital(result.constraint)}, with what is certain of it`,
        plot: plot(palette, {
          ...common,
          y: {
            domain: extent([...points.flatMap((point) => [point.figure, point.low, point.high]), result.bound]),
            grid: true,
            label: null,
          },
          marks: [
            Plot.areaY(
              points.filter((point) => point.low !== null),
              { x: "rows", y1: "low", y2: "high", fill: palette.blue, fillOpacity: 0.18 },
            ),
            breaks,
            Plot.ruleY([result.bound], { stroke: palette.accent, strokeDasharray: "2 2", strokeWidth: 1.5 }),
            Plot.line(
              points,
              named({ "data-series": "figure" }, { x: "rows", y: "figure", stroke: palette.blue, strokeWidth: 2.2 }),
            ),
          ],
        }),
      },
      {
        title: "Evidence that the promise is broken (e-value)",
        plot: plot(palette, {
          ...common,
          y: logAxis(
            [
              Math.min(0.5, ...points.map((point) => point.e_value).filter((value) => value > 0)),
              Math.max(alarm, ...points.map((point) => point.e_value)) * 1.6,
            ],
            (value) => format.digits(value, 1),
          ),
          marks: [
            breaks,
            Plot.ruleY([alarm], { stroke: palette.ink, strokeDasharray: "5 3" }),
            Plot.line(
              points.filter((point) => point.e_value > 0),
              named({ "data-series": "e_value" }, { x: "rows", y: "e_value", stroke: palette.blue, strokeWidth: 2.2 }),
            ),
          ],
        }),
      },
    ];
    const legend = [
      { label: "Bound", color: palette.accent, dash: "2 2" },
      { label: `Alarm at ${format.digits(alarm)}`, color: palette.ink, dash: "5 3" },
    ];
    if (since.length > 0) legend.push({ label: "Most likely broken since", color: palette.ink, width: 1.2 });
    return compose({ width, palette, columns, panels, legend });
  }

  return [
    said,
    figure(view, {
      id: "monitor",
      title: "The promise in deployment, row by row",
      draw,
      describe: () =>
        `${result.constraint} by the number of rows with a band that holds at all times, and the evidence that the bound ${format.bound(result.bound)} is broken. ${verdict}${broken}`,
      note: () => `The band holds at all times together, with confidence ${format.digits(1 - result.alpha)}.`,
      table: () => ({
        columns: [
          { name: "rows", format: format.count },
          { name: result.constraint, format: format.ratio },
          { name: "low", format: format.ratio },
          { name: "high", format: format.ratio },
          { name: "e-value" },
        ],
        rows: points.map((point) => [point.rows, point.figure, point.low, point.high, point.e_value]),
      }),
    }),
  ];
}
