// SPDX-License-Identifier: MIT
// The walk of the certification: rules from strict to loose, each tested, until the first that is not accepted.
import { h } from "../dom.js";
import { boundRule, compose, extent, logAxis, named, panelWidth, Plot, plot } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";
import { constraintOf } from "../study.js";

export function certificationWalk(view) {
  const { study } = view;
  const constraint = constraintOf(study);
  const now = () => study.certification[view.bound] ?? null;
  const said = h("p", { class: "said" });
  const tell = () => {
    const entry = now();
    if (!entry) return (said.textContent = "Nothing was certified at this bound.");
    const promise = entry.guarantee;
    said.textContent =
      entry.status === "certified" && promise
        ? `Certified: ${constraint.words} ${format.bound(promise.bound)} with confidence ${format.bound(promise.confidence)}, for ${promise.valid_for}. Tested on ${format.count(promise.flagged)} flagged rows of ${format.count(promise.rows)}, ${format.count(promise.true_positives)} of them positive: p-value ${format.pValue(promise.p_value)}.`
        : `Not certifiable: ${format.sentence(entry.why, false)}`;
  };
  tell();
  view.on("bound", tell);

  const steps = () =>
    (now()?.walk?.steps ?? []).map((step, at) => ({
      ...step,
      at,
      state: at === now().walk.last ? "last" : step.accepted ? "accepted" : "refused",
    }));

  function draw(width, palette) {
    const data = steps();
    if (data.length === 0) return null;
    const { level } = now().walk;
    const columns = width < 640 ? 1 : 2;
    const each = panelWidth(width, columns);
    const color = { accepted: palette.blue, refused: palette.soft, last: palette.accent };
    const dots = (y) => [
      Plot.line(data, { x: "flagged", y, stroke: palette.faint, strokeWidth: 1.5 }),
      Plot.dot(
        data,
        named(
          { "data-steps": y },
          {
            x: "flagged",
            y,
            r: (step) => (step.state === "last" ? 6.5 : 4),
            symbol: (step) => (step.state === "refused" ? "times" : "circle"),
            fill: (step) => (step.state === "refused" ? "none" : color[step.state]),
            stroke: (step) => (step.state === "refused" ? color.refused : palette.paper),
            strokeWidth: (step) => (step.state === "refused" ? 2.2 : 1.2),
          },
        ),
      ),
    ];
    const common = {
      width: each,
      height: 270,
      marginTop: 12,
      symbol: { type: "identity" },
      x: {
        domain: extent(
          data.map((step) => step.flagged),
          0.06,
        ),
        label: "rows flagged \u2192",
        ticks: 5,
        tickFormat: format.count,
      },
    };
    const smallest = Math.min(...data.map((step) => step.p_value).filter((p) => p > 0), level);
    const panels = [
      {
        title: `${constraint.name[0].toUpperCase()}${constraint.name.slice(1)} on the tested rows`,
        plot: plot(palette, {
          ...common,
          y: {
            domain: extent([...data.map((step) => step.estimate), study.bounds[view.bound]], 0.1),
            grid: true,
            label: null,
          },
          marks: [boundRule(study.bounds[view.bound], palette, "y"), ...dots("estimate")],
        }),
      },
      {
        title: "p-value of \u201cthe bound is not kept\u201d",
        plot: plot(palette, {
          ...common,
          y: logAxis([Math.max(1e-12, smallest / 2), 1], (value) => format.digits(value, 1)),
          marks: [Plot.ruleY([level], { stroke: palette.ink, strokeDasharray: "5 3" }), ...dots("p_value")],
        }),
      },
    ];
    const legend = [
      { label: "Accepted", color: color.accepted, kind: "dot" },
      { label: "Last accepted: the rule", color: color.last, kind: "dot" },
      { label: "Refused", color: palette.soft, kind: "cross" },
      { label: `Level ${format.digits(level)}`, color: palette.ink, dash: "5 3" },
      { label: "Bound", color: palette.accent, dash: "2 2" },
    ];
    return compose({ width, palette, columns, panels, legend });
  }

  const picture = figure(view, {
    id: "certification-walk",
    title: "The walk: each rule is tested, until one is refused",
    on: ["bound"],
    draw,
    nothing: "There was no walk at this bound.",
    describe: () => {
      const data = steps();
      const last = data.find((step) => step.state === "last");
      return `${data.length} steps, ${data.filter((step) => step.accepted).length} accepted. ${last ? `The last accepted one flags ${format.count(last.flagged)} rows with ${constraint.name} ${format.ratio(last.estimate)}, p-value ${format.pValue(last.p_value)}.` : "None was accepted."}`;
    },
    note: () => {
      const walk = now()?.walk;
      return walk
        ? `Fixed sequence, ${walk.test} test at level ${format.digits(walk.level)}. Where several steps have the level as their p-value, it is only known to be at most that.`
        : null;
    },
    table: () => ({
      columns: [
        { name: "step" },
        { name: "flagged", format: format.count },
        { name: "true positives", format: format.count },
        { name: constraint.name, format: format.ratio },
        { name: "p-value" },
        { name: "outcome", text: true },
      ],
      rows: steps().map((step) => [
        step.at + 1,
        step.flagged,
        step.true_positives,
        step.estimate,
        step.p_value,
        step.state === "last" ? "accepted, the last" : step.state,
      ]),
    }),
  });
  return [said, picture];
}
