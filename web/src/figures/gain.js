// SPDX-License-Identifier: MIT
// What the decision gains over one threshold, at every bound.
import { boundRule, compose, extent, named, Plot, plot, tipStyle } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";
import { constraintOf, goalOf } from "../study.js";

export function gainByBound(view) {
  const { study } = view;
  const { gain, bounds } = study;
  const constraint = constraintOf(study);
  const points = bounds.map((bound, at) => ({
    bound,
    in_sample: gain.in_sample?.[at] ?? null,
    expected: gain.expected?.[at] ?? null,
    low: gain.expected_low?.[at] ?? null,
    high: gain.expected_high?.[at] ?? null,
    test: gain.test?.[at] ?? null,
  }));
  const series = [
    { key: "expected", name: "Expected in deployment" },
    { key: "in_sample", name: "On the hold-out", dash: "2 3" },
    { key: "test", name: "On the test", dash: "9 4" },
  ].filter(({ key }) => points.some((point) => point[key] !== null));
  const values = points.flatMap((point) => series.map(({ key }) => point[key])).filter((value) => value !== null);
  // At bounds that few rows reach, gains and bands can be many times as large as elsewhere: the frame cuts them, but
  // never what is gained at the bound that was asked for, or at the one that is looked at. Bounds without a gain, where
  // one threshold decides, do not count.
  const sizes = values
    .map(Math.abs)
    .filter((size) => size > 0)
    .sort((one, other) => one - other);
  const usual = 2.5 * (sizes[Math.floor(0.8 * (sizes.length - 1))] ?? 0) || Infinity;
  const whole = extent([0, ...values, ...points.flatMap((point) => [point.low, point.high])], 0.05) ?? [0, 1];
  function frame() {
    const shown = [points[study.start], points[view.bound]].flatMap((point) => series.map(({ key }) => point[key]));
    const size = Math.max(usual, ...shown.map((value) => 1.2 * Math.abs(value ?? 0)));
    return [Math.max(whole[0], -size), Math.min(whole[1], size)];
  }
  const isCut = () => whole[0] < frame()[0] || whole[1] > frame()[1];

  function draw(width, palette) {
    if (values.length === 0) return null;
    const color = { expected: palette.accent, in_sample: palette.ink, test: palette.blue };
    const now = points[view.bound];
    const chart = plot(palette, {
      width,
      height: width < 520 ? 260 : 320,
      marginLeft: 56,
      x: {
        domain: extent(bounds, 0.01),
        label: `bound on ${constraint.name} \u2192`,
        labelAnchor: "right",
        ticks: width < 520 ? 5 : 9,
      },
      y: {
        domain: frame(),
        label: `\u2191 ${goalOf(study)} gained over one threshold`,
        tickFormat: (value) => format.change(value).replace(".0%", "%"),
        grid: true,
        ticks: 6,
      },
      marks: [
        Plot.ruleY([0], { stroke: palette.soft }),
        Plot.areaY(points, { x: "bound", y1: "low", y2: "high", fill: color.expected, fillOpacity: 0.16, clip: true }),
        ...series.map(({ key, dash }) =>
          Plot.line(
            points,
            named(
              { "data-series": key },
              { x: "bound", y: key, stroke: color[key], strokeWidth: 2.2, strokeDasharray: dash, clip: true },
            ),
          ),
        ),
        boundRule(study.bounds[view.bound], palette, "x", format.bound(study.bounds[view.bound])),
        ...series.map(({ key }) =>
          now[key] === null
            ? null
            : Plot.dot([now], {
                x: "bound",
                y: key,
                r: 5,
                fill: color[key],
                stroke: palette.paper,
                strokeWidth: 2,
                clip: true,
              }),
        ),
        Plot.tip(
          points,
          Plot.pointerX({
            x: "bound",
            y: (point) => series.map(({ key }) => point[key]).find((value) => value !== null) ?? 0,
            ...tipStyle(palette),
            title: (point) =>
              [
                `${constraint.name} ${format.bound(point.bound)}`,
                ...series.map(({ key, name }) => `${name}: ${format.change(point[key])}`),
              ].join("\n"),
          }),
        ),
      ],
    });
    return compose({
      width,
      palette,
      legend: series.map(({ key, name, dash }) => ({ label: name, color: color[key], dash, width: 2.2 })),
      panels: [{ plot: chart }],
    });
  }

  return figure(view, {
    id: "gain",
    title: `Gain in ${goalOf(study)} over one threshold, by bound`,
    on: ["bound"],
    draw,
    nothing: "No gain could be computed at any bound.",
    describe: () =>
      `Lines of the relative gain in ${goalOf(study)} over one threshold against the bound on ${constraint.name}. At ${format.bound(bounds[view.bound])}: ${series.map(({ key, name }) => `${name} ${format.change(points[view.bound][key])}`).join(", ")}.`,
    note: () =>
      `${gain.by ? `Expected by ${gain.by}, w` : "W"}ith a ${format.digits(100 * study.confidence)}% band.${isCut() ? " What is beyond the frame is in the numbers." : ""} A gain on the hold-out alone is too good: the rule was chosen there.`,
    table: () => ({
      columns: [
        { name: `bound on ${constraint.name}`, format: format.bound },
        ...series.map(({ name }) => ({ name, format: format.change })),
        { name: "expected, low", format: format.change },
        { name: "expected, high", format: format.change },
      ],
      rows: points.map((point) => [point.bound, ...series.map(({ key }) => point[key]), point.low, point.high]),
    }),
  });
}
