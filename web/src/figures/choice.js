// SPDX-License-Identifier: MIT
// What auto tried, and why it chose.
import { h } from "../dom.js";
import { compose, extent, named, Plot, plot, textWidth } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";
import { cellOf, decider, ruleOf } from "../study.js";

export function choiceOfAuto(view) {
  const { study } = view;
  const now = () => study.choice[view.bound] ?? null;
  const why = h("p", { class: "said" });
  const tell = () => {
    const choice = now();
    why.textContent = choice
      ? `${format.sentence(choice.why)}${Number.isFinite(choice.information_p) ? ` The p-value of \u201cuncertainty tells nothing beyond the score\u201d is ${format.pValue(choice.information_p)}.` : ""}`
      : "Nothing was chosen at this bound.";
  };
  tell();
  view.on("bound", tell);

  // A method can be there with several numbers of levels; the rule has one of them.
  function isTaken(candidate, candidates) {
    const cell = cellOf(decider(study, view.bound), view.bound);
    const levels = ruleOf(study, cell)?.thresholds.length;
    const same = candidates.filter((other) => other.method === cell?.chosen);
    return same.includes(candidate) && (candidate.levels === levels || same.every((other) => other.levels !== levels));
  }

  const rows = () =>
    (now()?.candidates ?? []).map((candidate, _, candidates) => ({
      ...candidate,
      name:
        candidate.method === "st"
          ? "one threshold"
          : `${format.shorten(candidate.method, 22)}, ${candidate.levels} ${candidate.levels === 1 ? "level" : "levels"}`,
      taken: isTaken(candidate, candidates),
    }));

  function draw(width, palette) {
    const candidates = rows().filter((candidate) => Number.isFinite(candidate.gain));
    if (candidates.length === 0) return null;
    const margin = Math.min(width * 0.42, 14 + Math.max(...candidates.map((candidate) => textWidth(candidate.name))));
    const ends = candidates.flatMap((candidate) => [
      candidate.gain - candidate.gain_se,
      candidate.gain + candidate.gain_se,
    ]);
    const color = (candidate) => (candidate.taken ? palette.accent : palette.soft);
    const chart = plot(palette, {
      width,
      height: 52 + 27 * candidates.length,
      marginLeft: margin,
      marginTop: 8,
      x: {
        domain: extent([0, ...ends], 0.06),
        label: "gain over one threshold on rows left out \u2192",
        labelAnchor: "right",
        tickFormat: (value) => format.change(value).replace(".0%", "%"),
        grid: true,
        ticks: width < 520 ? 4 : 8,
      },
      y: { domain: candidates.map((candidate) => candidate.name), label: null, tickSize: 0 },
      marks: [
        Plot.ruleX([0], { stroke: palette.soft }),
        Plot.ruleY(candidates, {
          y: "name",
          x1: (candidate) => candidate.gain - candidate.gain_se,
          x2: (candidate) => candidate.gain + candidate.gain_se,
          stroke: color,
          strokeWidth: 2.5,
          strokeOpacity: 0.55,
        }),
        Plot.dot(
          candidates,
          named(
            { "data-candidates": "" },
            { y: "name", x: "gain", r: (candidate) => (candidate.taken ? 6 : 4.5), fill: color, stroke: palette.paper },
          ),
        ),
      ],
    });
    return compose({
      width,
      palette,
      panels: [{ plot: chart }],
      legend: [
        { label: "Chosen", color: palette.accent, kind: "dot" },
        { label: "Others", color: palette.soft, kind: "dot" },
      ],
    });
  }

  const picture = figure(view, {
    id: "choice",
    title: "Candidates on rows left out, with one standard error",
    on: ["bound"],
    draw,
    nothing: "Nothing was chosen at this bound.",
    describe: () =>
      `Gain of each candidate over one threshold on rows left out: ${rows()
        .map(
          (candidate) =>
            `${candidate.name} ${format.change(candidate.gain)}, standard error ${format.change(candidate.gain_se)}`,
        )
        .join("; ")}.`,
    table: () => ({
      columns: [
        { name: "candidate", text: true },
        { name: "levels", format: format.count },
        { name: "gain", format: format.change },
        { name: "standard error", format: format.change },
        { name: "lift" },
        { name: "standard error of lift" },
      ],
      rows: (now()?.candidates ?? []).map((candidate) => [
        candidate.method,
        candidate.levels,
        candidate.gain,
        candidate.gain_se,
        candidate.lift,
        candidate.lift_se,
      ]),
    }),
  });
  return [why, picture];
}
