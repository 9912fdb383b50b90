// SPDX-License-Identifier: MIT
// The rows that the decision takes in and leaves out against one threshold.
import { h } from "../dom.js";
import { compose, extent, named, Plot, plot } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";

const kSets = [
  ["both", "Flagged by both"],
  ["taken_in", "Taken in"],
  ["left_out", "Left out"],
];

export function swapSets(view) {
  const { study } = view;
  const now = () => study.swaps[view.bound] ?? null;
  const said = h("p", { class: "said" });
  const tell = () => {
    const swap = now();
    said.textContent = swap
      ? `Against one threshold, ${format.count(swap.taken_in.rows)} rows are taken in${swap.labelled ? `, ${format.count(swap.taken_in.positives)} of them positive` : ""}, and ${format.count(swap.left_out.rows)} are left out${swap.labelled ? `, ${format.count(swap.left_out.positives)} of them positive` : ""}. ${swap.verdict ? format.sentence(swap.verdict) : ""}`
      : "There is nothing to compare at this bound.";
  };
  tell();
  view.on("bound", tell);

  function draw(width, palette) {
    const swap = now();
    if (!swap) return null;
    const narrow = width < 520;
    const color = { both: palette.soft, taken_in: palette.more, left_out: palette.less };
    const sets = kSets
      .map(([key, name]) => ({ key, name, ...swap[key] }))
      .filter((set) => set.positivity !== null && set.positivity !== undefined);
    const marksBound = study.goal?.constraint === "precision" ? [study.bounds[view.bound]] : [];
    const panels = [];
    if (sets.length > 0) {
      panels.push({
        title: "Share of positives",
        plot: plot(palette, {
          width,
          height: 120,
          marginLeft: 110,
          marginTop: 6,
          marginBottom: 28,
          x: {
            domain: extent(
              [...sets.flatMap((set) => [set.positivity, ...(set.positivity_interval ?? [])]), ...marksBound],
              0.04,
            ),
            grid: true,
            label: null,
            ticks: narrow ? 5 : 9,
          },
          y: { domain: kSets.map(([, name]) => name), label: null, tickSize: 0 },
          marks: [
            marksBound.length > 0
              ? Plot.ruleX(marksBound, { stroke: palette.accent, strokeDasharray: "2 2", strokeWidth: 1.5 })
              : null,
            Plot.ruleY(
              sets.filter((set) => set.positivity_interval),
              {
                y: "name",
                x1: (set) => set.positivity_interval[0],
                x2: (set) => set.positivity_interval[1],
                stroke: (set) => color[set.key],
                strokeWidth: 3,
                strokeOpacity: 0.5,
              },
            ),
            Plot.dot(
              sets,
              named(
                { "data-sets": "" },
                { y: "name", x: "positivity", r: 5.5, fill: (set) => color[set.key], stroke: palette.paper },
              ),
            ),
          ],
        }),
      });
    }
    const levels = swap.levels ?? [];
    const bars = levels.flatMap((level, at) => [
      { level: at + 1, side: "left_out", from: -level.left_out.rows, to: 0 },
      { level: at + 1, side: "taken_in", from: 0, to: level.taken_in.rows },
      { level: at + 1, side: "left_out", from: -(level.left_out.positives ?? 0), to: 0, positive: true },
      { level: at + 1, side: "taken_in", from: 0, to: level.taken_in.positives ?? 0, positive: true },
    ]);
    if (levels.length > 0) {
      const step = levels.length > 20 ? 10 : levels.length > 10 ? 15 : 22;
      panels.push({
        title: narrow
          ? "Rows by uncertainty level"
          : "Rows by uncertainty level: left out to the left, taken in to the right",
        plot: plot(palette, {
          width,
          height: 68 + step * levels.length,
          marginLeft: 54,
          marginTop: 22,
          x: {
            domain: extent(
              bars.flatMap((bar) => [bar.from, bar.to]),
              0.03,
            ),
            label: "\u2190 rows left out \u00b7 taken in \u2192",
            labelAnchor: "center",
            tickFormat: (value) => format.count(Math.abs(value)),
            grid: true,
            ticks: narrow ? 4 : 9,
          },
          y: {
            type: "band",
            domain: levels.map((_, at) => levels.length - at),
            label: "\u2191 level",
            labelAnchor: "top",
            tickSize: 0,
            ticks: levels.length > 16 ? levels.map((_, at) => at + 1).filter((at) => at % 4 === 1) : undefined,
            padding: 0.15,
          },
          marks: [
            Plot.barX(
              bars.filter((bar) => !bar.positive),
              named(
                { "data-bars": "rows" },
                { y: "level", x1: "from", x2: "to", fill: (bar) => color[bar.side], fillOpacity: 0.35 },
              ),
            ),
            Plot.barX(
              bars.filter((bar) => bar.positive),
              named({ "data-bars": "positives" }, { y: "level", x1: "from", x2: "to", fill: (bar) => color[bar.side] }),
            ),
            Plot.ruleX([0], { stroke: palette.ink }),
          ],
        }),
      });
    }
    if (panels.length === 0) return null;
    const legend = [
      { label: "Taken in, positives dark", color: color.taken_in, kind: "box" },
      { label: "Left out, positives dark", color: color.left_out, kind: "box" },
    ];
    if (marksBound.length > 0) legend.push({ label: "Bound on precision", color: palette.accent, dash: "2 2" });
    return compose({ width, palette, panels, legend, gap: 22 });
  }

  const picture = figure(view, {
    id: "swap-sets",
    title: "Rows taken in and left out against one threshold",
    on: ["bound"],
    draw,
    nothing: "There is nothing to compare at this bound.",
    describe: () => {
      const swap = now();
      return swap
        ? kSets
            .map(
              ([key, name]) =>
                `${name}: ${format.count(swap[key].rows)} rows, share of positives ${format.ratio(swap[key].positivity)}`,
            )
            .join("; ")
        : "";
    },
    note: () =>
      now() ? `Intervals of ${format.digits(100 * now().confidence)}%. Level 1 has the lowest uncertainty.` : null,
    table: () => {
      const swap = now();
      const line = (name, set) => [
        name,
        set.rows,
        set.positives ?? null,
        set.positivity ?? null,
        set.positivity_interval?.[0] ?? null,
        set.positivity_interval?.[1] ?? null,
      ];
      return {
        columns: [
          { name: "rows", text: true },
          { name: "number", format: format.count },
          { name: "positives", format: format.count },
          { name: "share of positives", format: format.ratio },
          { name: "low", format: format.ratio },
          { name: "high", format: format.ratio },
        ],
        rows: swap
          ? [
              ...kSets.map(([key, name]) => line(name, swap[key])),
              ...(swap.levels ?? []).flatMap((level, at) => [
                line(`level ${at + 1}, all`, level.all),
                line(`level ${at + 1}, taken in`, level.taken_in),
                line(`level ${at + 1}, left out`, level.left_out),
              ]),
            ]
          : [],
      };
    },
  });
  return [said, picture];
}
