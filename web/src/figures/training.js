// SPDX-License-Identifier: MIT
// Loss and average precision by epoch, of each run.
import { compose, extent, named, panelWidth, Plot, plot } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";

// What a model file calls them is taken too.
const kAlias = { train_loss: "loss", valid_loss: "log_loss" };
const kPanels = [
  [
    "Loss",
    [
      ["train_loss", "in training", "2 3"],
      ["valid_loss", "on rows kept aside", ""],
    ],
  ],
  ["Average precision on rows kept aside", [["average_precision", "on rows kept aside", ""]]],
];

export function trainingCurves(view) {
  const runs = view.study.training;
  const value = (epoch, key) => epoch[key] ?? epoch[kAlias[key]] ?? null;
  const points = runs.flatMap((run, at) =>
    run.epochs.map((epoch) => ({
      run: at,
      name: run.name,
      epoch: epoch.epoch,
      selected: epoch.epoch === run.selected,
      ...Object.fromEntries(["train_loss", "valid_loss", "average_precision"].map((key) => [key, value(epoch, key)])),
    })),
  );
  const others = [
    ...new Set(
      runs.flatMap((run) =>
        run.epochs.flatMap((epoch) =>
          Object.keys(epoch).filter(
            (key) =>
              typeof epoch[key] === "number" &&
              !["epoch", "train_loss", "valid_loss", "average_precision", "loss", "log_loss", "member"].includes(key),
          ),
        ),
      ),
    ),
  ];
  const shown = kPanels
    .map(([title, series]) => [title, series.filter(([key]) => points.some((point) => point[key] !== null))])
    .filter(([, series]) => series.length > 0);

  function draw(width, palette) {
    if (shown.length === 0) return null;
    const columns = width < 640 ? 1 : 2;
    const colors = [palette.blue, palette.accent, ...palette.methods.slice(1)];
    const epochs = extent(
      points.map((point) => point.epoch),
      0.03,
    );
    const panels = shown.map(([title, series]) => ({
      title,
      plot: plot(palette, {
        width: panelWidth(width, columns),
        height: 260,
        marginTop: 12,
        x: {
          domain: epochs,
          label: "epoch \u2192",
          tickFormat: "d",
          ticks: Math.min(8, Math.max(...points.map((point) => point.epoch))),
        },
        y: {
          domain: extent(
            points.flatMap((point) => series.map(([key]) => point[key])),
            0.06,
          ),
          grid: true,
          label: null,
          ticks: 5,
        },
        marks: runs.flatMap((_, run) =>
          series.flatMap(([key, , dash]) => {
            const own = points.filter((point) => point.run === run && point[key] !== null);
            const color = colors[run % colors.length];
            return [
              Plot.line(
                own,
                named(
                  { "data-series": key, "data-run": run },
                  { x: "epoch", y: key, stroke: color, strokeWidth: 1.8, strokeDasharray: dash || undefined },
                ),
              ),
              Plot.dot(
                own.filter((point) => point.selected && key !== "train_loss"),
                named(
                  { "data-selected": run },
                  { x: "epoch", y: key, r: 5, fill: color, stroke: palette.paper, strokeWidth: 2 },
                ),
              ),
            ];
          }),
        ),
      }),
    }));
    const legend = [
      ...(runs.length <= 8
        ? runs.map((run, at) => ({ label: format.shorten(run.name, 30), color: colors[at % colors.length] }))
        : []),
      { label: "In training", color: palette.soft, dash: "2 3" },
      { label: "On rows kept aside", color: palette.soft },
      { label: "Epoch kept", color: palette.soft, kind: "dot" },
    ];
    return compose({ width, palette, columns, panels, legend });
  }

  return figure(view, {
    id: "training",
    title: "Training, epoch by epoch",
    draw,
    describe: () =>
      `Loss and average precision by epoch of ${runs.length} ${runs.length === 1 ? "run" : "runs"}: ${runs.map((run) => `${run.name} kept epoch ${run.selected}`).join("; ")}.`,
    table: () => ({
      columns: [
        { name: "run", text: true },
        { name: "epoch", format: format.count },
        { name: "loss in training" },
        { name: "loss on rows kept aside" },
        { name: "average precision", format: format.ratio },
        ...others.map((name) => ({ name })),
        { name: "kept", text: true },
      ],
      rows: runs.flatMap((run) =>
        run.epochs.map((epoch) => [
          run.name,
          epoch.epoch,
          value(epoch, "train_loss"),
          value(epoch, "valid_loss"),
          value(epoch, "average_precision"),
          ...others.map((key) => epoch[key] ?? null),
          epoch.epoch === run.selected ? "kept" : "",
        ]),
      ),
    }),
  });
}
