// SPDX-License-Identifier: MIT
// How many levels and bins: the gain on rows left out, with the best one starred.
import { h } from "../dom.js";
import { compose, hatch, named, Plot, plot, tipStyle } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";
import { mix } from "../palette.js";

export function levelsAndBins(view) {
  const { sweep } = view.study;
  const levels = [...new Set(sweep.cells.map((cell) => cell.levels))];
  const bins = [...new Set(sweep.cells.map((cell) => cell.bins))].map(String);
  const same = (one, other) => Boolean(one && other) && one.levels === other.levels && one.bins === other.bins;
  const widest = Math.max(1e-9, ...sweep.cells.map((cell) => Math.abs(cell.gain ?? 0)));

  function draw(width, palette) {
    const narrow = width < 520;
    const color = (cell) => mix([palette.less, palette.middle, palette.more], 0.5 + (0.5 * cell.gain) / widest);
    const strong = (cell) => Math.abs(cell.gain) / widest > 0.55;
    const none = hatch(palette.faint, palette.paper, 6);
    const known = sweep.cells.filter((cell) => cell.gain !== null);
    const at = { x: (cell) => String(cell.bins), y: "levels" };
    const star = (cell) =>
      `${same(cell, sweep.best) ? "\u2605" : same(cell, sweep.smallest) ? "\u2606" : ""}${narrow ? "" : " "}`;
    const short = (gain) => format.change(Math.round(100 * gain) / 100).replace(".0%", "");
    const chart = plot(palette, {
      width,
      height: 64 + 34 * levels.length,
      marginLeft: 44,
      marginTop: 24,
      x: { domain: bins, label: "score bins per level \u2192", labelAnchor: "right", tickSize: 0, padding: 0 },
      y: {
        domain: [...levels].reverse(),
        label: "\u2191 uncertainty levels",
        labelAnchor: "top",
        tickSize: 0,
        type: "band",
        padding: 0,
      },
      marks: [
        Plot.cell(
          sweep.cells.filter((cell) => cell.gain === null),
          { ...at, fill: none.fill, inset: 1 },
        ),
        Plot.cell(known, { ...at, fill: color, inset: 1 }),
        Plot.cell(
          known.filter((cell) => same(cell, sweep.best)),
          named({ "data-best": "" }, { ...at, fill: "none", stroke: palette.accent, strokeWidth: 2.5, inset: 2 }),
        ),
        Plot.text(known, {
          ...at,
          text: (cell) => star(cell) + (narrow ? short(cell.gain) : format.change(cell.gain)),
          fill: (cell) => (strong(cell) ? palette.paper : palette.ink),
          fontSize: narrow ? 9.5 : 12,
          fontWeight: (cell) => (same(cell, sweep.best) ? 700 : 400),
        }),
        Plot.tip(
          sweep.cells,
          Plot.pointer({
            ...at,
            ...tipStyle(palette),
            title: (cell) =>
              `${cell.levels} levels, ${cell.bins} bins\ngain ${format.change(cell.gain)}, standard error ${format.change(cell.gain_se)}\nprecision ${format.ratio(cell.precision)}, recall ${format.ratio(cell.recall)}\n${cell.fits_infeasible} of ${sweep.fits} fits infeasible`,
          }),
        ),
      ],
    });
    chart.prepend(none.definition());
    return compose({ width, palette, panels: [{ plot: chart }] });
  }

  const picture = figure(view, {
    id: "levels-and-bins",
    title: `Gain over one threshold on rows left out, in percent, by levels and bins (${sweep.method})`,
    draw,
    describe: () => `Heat map of the gain by number of levels and bins. ${sweep.sentence}`,
    note: () =>
      `\u2605 the best; \u2606 the smallest within one standard error of it; hatched: infeasible. At the bound that was asked for: ${sweep.objective}.`,
    table: () => ({
      columns: [
        { name: "levels", format: format.count },
        { name: "bins", text: true },
        { name: "gain", format: format.change },
        { name: "standard error", format: format.change },
        { name: "flagged", format: format.count },
        { name: "precision", format: format.ratio },
        { name: "recall", format: format.ratio },
        { name: "fits that missed the bound", format: format.count },
        { name: "infeasible fits", format: format.count },
      ],
      rows: sweep.cells.map((cell) => [
        cell.levels,
        String(cell.bins),
        cell.gain,
        cell.gain_se,
        cell.flagged,
        cell.precision,
        cell.recall,
        cell.fits_missed,
        cell.fits_infeasible,
      ]),
    }),
  });
  return [h("p", { class: "said" }, format.sentence(sweep.sentence)), picture];
}
