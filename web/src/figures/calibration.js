// SPDX-License-Identifier: MIT
// Calibration errors in the top bins: ECE@j, and over all levels cumulatively.
import { compose, logAxis, named, panelWidth, Plot, plot, tipStyle } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";

const kNames = {
  raw: "Raw score",
  ist: "Isotonic",
  mist: "Isotonic by level",
  shrunken: "By level, shrunken",
  tau: "Corrected for undersampling",
  evidence: "Corrected by evidence",
  chance: "By chance alone",
};
const kPanels = [
  ["ece_at", "ECE@j"],
  ["cumulative_ece", "Cumulative ECE@j"],
];

// ECE@j is of bin j; the cumulative one of the bins above j, at 0 of all of them.
const kFirst = { ece_at: 1, cumulative_ece: 0 };

export function calibrationErrors(view) {
  const { calibration, confidence } = view.study;
  const nameOf = (column) => kNames[column.name] ?? format.shorten(column.name, 30);
  const points = kPanels.flatMap(([key]) =>
    calibration.columns.flatMap((column, series) =>
      (column[key] ?? [])
        .map((entry, at) => ({
          key,
          series,
          column: column.name,
          name: nameOf(column),
          j: at + kFirst[key],
          value: entry?.value ?? null,
          low: entry?.band?.[0] ?? null,
          high: entry?.band?.[1] ?? null,
        }))
        .filter((point) => point.value !== null),
    ),
  );
  const chance = kPanels.flatMap(([key]) =>
    (calibration.by_chance?.[key] ?? [])
      .map((value, at) => ({ key, j: at + kFirst[key], value }))
      .filter((point) => point.value !== null),
  );

  function draw(width, palette) {
    const positive = [...points, ...chance].map((point) => point.value).filter((value) => value > 0);
    if (positive.length === 0) return null;
    const columns = width < 640 ? 1 : 2;
    const colors = [palette.soft, palette.ink, palette.blue, palette.accent, ...palette.methods.slice(2)];
    const dashes = ["3 3", "8 3", "2 2", "", "10 3 2 3", "5 5"];
    // Errors before and after calibration differ by powers of ten.
    const least = Math.min(...positive) / 1.6;
    const most = Math.max(...points.map((point) => point.high ?? point.value)) * 1.1;
    const floor = (value) => (value === null ? null : Math.max(value, least));
    const panels = kPanels.map(([key, title]) => ({
      title,
      plot: plot(palette, {
        width: panelWidth(width, columns),
        height: 290,
        marginTop: 12,
        x: {
          label: key === "ece_at" ? "score bin j, the lowest is 1 \u2192" : "bins above j \u2192",
          ticks: Math.min(10, calibration.bins),
          tickFormat: "d",
        },
        y: logAxis([least, most], (value) => format.digits(value, 2)),
        marks: [
          Plot.line(
            chance.filter((point) => point.key === key),
            named(
              { "data-series": "chance" },
              { x: "j", y: (point) => floor(point.value), stroke: palette.faint, strokeWidth: 5, strokeOpacity: 0.8 },
            ),
          ),
          ...calibration.columns.flatMap((column, series) => {
            const own = points.filter((point) => point.key === key && point.series === series);
            return [
              Plot.areaY(
                own.filter((point) => point.low !== null),
                {
                  x: "j",
                  y1: (point) => floor(point.low),
                  y2: (point) => floor(point.high),
                  fill: colors[series % colors.length],
                  fillOpacity: 0.1,
                },
              ),
              Plot.line(
                own,
                named(
                  { "data-series": column.name },
                  {
                    x: "j",
                    y: (point) => floor(point.value),
                    stroke: colors[series % colors.length],
                    strokeWidth: 2,
                    strokeDasharray: dashes[series % dashes.length] || undefined,
                  },
                ),
              ),
            ];
          }),
          Plot.tip(
            points.filter((point) => point.key === key),
            Plot.pointer({
              x: "j",
              y: (point) => floor(point.value),
              ...tipStyle(palette),
              title: (point) =>
                `${point.name}, j = ${point.j}\n${format.digits(point.value)}\n${format.interval([point.low, point.high], format.digits)}`,
            }),
          ),
        ],
      }),
    }));
    const legend = calibration.columns.map((column, series) => ({
      label: nameOf(column),
      color: colors[series % colors.length],
      dash: dashes[series % dashes.length],
    }));
    if (chance.length > 0) legend.push({ label: kNames.chance, color: palette.faint, width: 5 });
    return compose({ width, palette, columns, panels, legend });
  }

  const title = "Calibration error by score bin, before and after calibration";
  const by = calibration.judged_on?.by;
  return figure(view, {
    id: "calibration",
    title,
    draw,
    nothing: "No calibration error is above 0.",
    describe: () =>
      `Two plots on logarithmic axes of ECE@j and cumulative ECE@j by score bin. ${calibration.columns.map((column) => `${nameOf(column)}: ECE ${format.digits(column.ece?.value)}`).join("; ")}.`,
    note: () =>
      `Logarithmic axes; bands are ${format.digits(100 * confidence)}% intervals. What chance alone would give a perfect calibration is drawn as a broad grey line.${by ? ` Judged by ${by}.` : ""} Chosen: ${kNames[calibration.chosen] ?? calibration.chosen}.`,
    table: () => ({
      columns: [
        { name: "error", text: true },
        { name: "probability", text: true },
        { name: "j", format: format.count },
        { name: "value" },
        { name: "low" },
        { name: "high" },
      ],
      rows: [
        ...points.map((point) => [
          kPanels.find(([key]) => key === point.key)[1],
          point.name,
          point.j,
          point.value,
          point.low,
          point.high,
        ]),
        ...chance.map((point) => [
          kPanels.find(([key]) => key === point.key)[1],
          kNames.chance,
          point.j,
          point.value,
          null,
          null,
        ]),
        ...calibration.columns.flatMap((column) =>
          [
            ["ECE", "ece"],
            ["ECE by level", "ece_by_level"],
            ["Brier score", "brier"],
            ["log loss", "log_loss"],
            ["ROC AUC", "roc_auc"],
            ["average precision", "average_precision"],
          ]
            .filter(([, key]) => column[key])
            .map(([what, key]) => [
              what,
              nameOf(column),
              null,
              column[key].value,
              column[key].band?.[0] ?? null,
              column[key].band?.[1] ?? null,
            ]),
        ),
      ],
    }),
  });
}
