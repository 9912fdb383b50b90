// SPDX-License-Identifier: MIT
// Positivity by score and uncertainty, and the rules that cut through it.
import { h, s } from "../dom.js";
import { compose, hatch, named, Plot, plot, textWidth, tipStyle } from "../draw.js";
import { figure } from "../figure.js";
import * as format from "../format.js";
import { lineOf, mix, paletteOf } from "../palette.js";
import { quantilePlace, spread } from "../place.js";
import { cellOf, constraintOf, isFeasible, labelOf, ruleOf } from "../study.js";

/// The corners of a rule's step line from the lowest uncertainty up, in places on the axes. A level without a threshold has
/// its part at the right edge: nothing of it is flagged.
export function stepLine(rule, placeX, placeY, [left, right], [bottom, top]) {
  const points = [];
  rule.thresholds.forEach((threshold, level) => {
    const x = threshold === null ? right : Math.min(right, Math.max(left, placeX(threshold)));
    const from = level === 0 ? bottom : placeY(rule.edges[level - 1]);
    const to = level === rule.thresholds.length - 1 ? top : placeY(rule.edges[level]);
    points.push({ x, y: from }, { x, y: to });
  });
  return points;
}

export function positivityMap(view) {
  const { study } = view;
  const map = study.positivity;
  const levels = map.rate.length;
  const bins = map.rate[0]?.length ?? 0;
  const cells = map.rate.flatMap((row, level) =>
    row.map((rate, bin) => ({
      level,
      bin,
      rate,
      rows: map.rows[level][bin],
      positives: map.positives[level][bin],
      low: map.low[level][bin],
      high: map.high[level][bin],
    })),
  );
  // Colours are for cells that have rows enough: a single positive row must not take the strongest one from all others.
  const known = cells.filter((cell) => cell.rate !== null);
  const enough = known.filter((cell) => cell.rows >= map.few);
  const highest = (enough.length > 0 ? enough : known).reduce((most, cell) => Math.max(most, cell.rate), 0) || 1;
  const edgesX = [map.score_range[0], ...map.score_edges, map.score_range[1]];
  const edgesY = [map.uncertainty_range[0], ...map.uncertainty_edges, map.uncertainty_range[1]];
  const scoreName = format.shorten(study.data?.columns?.score ?? "score", 28);
  const uncertaintyName = format.shorten(study.data?.columns?.uncertainty ?? "uncertainty", 28);
  const upwards = study.data?.larger_is_less_certain === false ? "more certain" : "less certain";
  let frame = null;

  const axes = () => {
    const byValue = view.axes === "values";
    return {
      byValue,
      x: byValue ? (value) => value : (value) => quantilePlace(map.score_edges, map.score_range, value),
      y: byValue ? (value) => value : (value) => quantilePlace(map.uncertainty_edges, map.uncertainty_range, value),
      edgeX: byValue ? (at) => edgesX[at] : (at) => at,
      edgeY: byValue ? (at) => edgesY[at] : (at) => at,
      domainX: byValue ? map.score_range : [0, bins],
      domainY: byValue ? map.uncertainty_range : [0, levels],
    };
  };

  function lines(palette) {
    const to = axes();
    const marks = [];
    // The method that decides comes last, on top.
    for (const method of [...study.methods].reverse()) {
      const rule = ruleOf(study, cellOf(method, view.bound));
      if (!rule || !view.shown.has(method.name)) continue;
      const points = stepLine(rule, to.x, to.y, to.domainX, to.domainY);
      const { color, dash, width } = lineOf(study, method.name, palette);
      const line = (more) => Plot.line(points, { x: "x", y: "y", strokeLinejoin: "miter", ...more });
      marks.push(line({ stroke: palette.paper, strokeWidth: width + 2.5, strokeOpacity: 0.85 }));
      marks.push(
        line(
          named(
            { "data-method": method.name, "data-rule": cellOf(method, view.bound).rule },
            { stroke: color, strokeWidth: width, strokeDasharray: dash || undefined },
          ),
        ),
      );
    }
    return marks;
  }

  // The rules are drawn by a plot of the same frame, whose marks then stand in the map's own group.
  function update(drawing, palette) {
    const over = plot(palette, {
      ...frame,
      x: { ...frame.x, axis: null },
      y: { ...frame.y, axis: null },
      marks: lines(palette),
    });
    drawing.querySelector(".rules").replaceChildren(...[...over.children].filter((child) => child.localName === "g"));
  }

  function draw(width, palette) {
    const to = axes();
    const narrow = width < 520;
    const few = hatch(palette.ink, null, narrow ? 4 : 5);
    const ticks = (edges, domain, wanted) =>
      to.byValue
        ? { ticks: wanted }
        : { ticks: spread(domain[1], wanted), tickFormat: (at) => format.digits(edges[at], 3) };
    frame = {
      width,
      height: narrow ? 330 : 440,
      marginLeft: narrow ? 44 : 58,
      marginRight: 26,
      marginTop: 26,
      marginBottom: 45,
      x: {
        domain: to.domainX,
        label: `${scoreName} \u2192`,
        labelAnchor: "right",
        ...ticks(edgesX, to.domainX, narrow ? 5 : 10),
        tickSize: 4,
      },
      y: {
        domain: to.domainY,
        label: `\u2191 ${uncertaintyName}, ${upwards}`,
        ...ticks(edgesY, to.domainY, 9),
        tickSize: 4,
      },
    };
    const box = (more) => ({
      x1: (cell) => to.edgeX(cell.bin),
      x2: (cell) => to.edgeX(cell.bin + 1),
      y1: (cell) => to.edgeY(cell.level),
      y2: (cell) => to.edgeY(cell.level + 1),
      ...more,
    });
    const base = plot(palette, {
      ...frame,
      marks: [
        Plot.rect(
          known,
          box(
            named(
              { "data-cells": "" },
              {
                fill: (cell) => mix(palette.heat, cell.rate / highest),
                fillOpacity: (cell) => (cell.rows < map.few ? 0.45 : 1),
                shapeRendering: "crispEdges",
              },
            ),
          ),
        ),
        Plot.rect(
          cells.filter((cell) => cell.rows < map.few),
          box(named({ "data-few": "" }, { fill: few.fill, fillOpacity: 0.45 })),
        ),
        () => s("g", { class: "rules" }),
        Plot.tip(
          cells,
          Plot.pointer({
            x: (cell) => (to.edgeX(cell.bin) + to.edgeX(cell.bin + 1)) / 2,
            y: (cell) => (to.edgeY(cell.level) + to.edgeY(cell.level + 1)) / 2,
            maxRadius: 60,
            ...tipStyle(palette),
            title: (cell) =>
              `${format.count(cell.positives)} of ${format.count(cell.rows)} rows positive` +
              (cell.rate === null ? "" : `: ${format.ratio(cell.rate)}\n${format.interval([cell.low, cell.high])}`) +
              `\n${scoreName} ${format.digits(edgesX[cell.bin])} to ${format.digits(edgesX[cell.bin + 1])}\n${uncertaintyName} ${format.digits(edgesY[cell.level])} to ${format.digits(edgesY[cell.level + 1])}`,
          }),
        ),
      ],
    });
    base.prepend(few.definition());
    const drawing = compose({
      width,
      palette,
      panels: [{ plot: scale(width, palette, highest, map.few, few.fill) }, { plot: base }],
      gap: 2,
    });
    update(drawing, palette);
    return drawing;
  }

  const picture = figure(view, {
    id: "positivity-map",
    title: "Share of positives by score and uncertainty, with the rules",
    on: ["bound", "methods"],
    redrawOn: ["axes"],
    draw,
    update,
    describe: () =>
      `Heat map of the share of positives in ${levels} uncertainty levels and ${bins} score bins; the highest share of a cell with rows enough is ${format.ratio(highest)}. ` +
      `Step lines show where these rules begin to flag at a ${constraintOf(study).words} ${format.bound(study.bounds[view.bound])}: ${
        study.methods
          .filter((method) => view.shown.has(method.name) && isFeasible(cellOf(method, view.bound)))
          .map(labelOf)
          .join(", ") || "none"
      }.`,
    note: () => {
      const missing = study.methods
        .filter((method) => view.shown.has(method.name) && !isFeasible(cellOf(method, view.bound)))
        .map(labelOf);
      return (
        (view.axes === "quantiles"
          ? "The axes are of quantiles: every bin is drawn equally wide, however far its edges are apart. "
          : "The axes are of values. ") +
        `Hatched: fewer than ${map.few} rows. ` +
        (missing.length > 0 ? `No line, as no such rule keeps this bound: ${missing.join(", ")}.` : "")
      );
    },
    table: () => ({
      columns: [
        { name: "level" },
        { name: "uncertainty from" },
        { name: "to" },
        { name: "bin" },
        { name: "score from" },
        { name: "to" },
        { name: "rows", format: format.count },
        { name: "positives", format: format.count },
        { name: "share", format: format.ratio },
        { name: "low", format: format.ratio },
        { name: "high", format: format.ratio },
      ],
      rows: cells.map((cell) => [
        cell.level + 1,
        edgesY[cell.level],
        edgesY[cell.level + 1],
        cell.bin + 1,
        edgesX[cell.bin],
        edgesX[cell.bin + 1],
        cell.rows,
        cell.positives,
        cell.rate,
        cell.low,
        cell.high,
      ]),
    }),
  });
  return [methodSwitches(view), picture];
}

/// The colours of the map, and what its hatching means.
function scale(width, palette, highest, few, hatching) {
  const root = s("svg", { width, height: 34 });
  const from = "0";
  const left = textWidth("Share of positives") + 10 + textWidth(from) + 6;
  const length = Math.min(170, width * 0.3);
  const steps = 34;
  root.append(
    s("text", { x: 0, y: 16, fill: palette.ink }, "Share of positives"),
    s("text", { x: left - 6, y: 16, "text-anchor": "end", fill: palette.soft }, from),
  );
  for (let step = 0; step < steps; ++step) {
    root.append(
      s("rect", {
        x: left + (step * length) / steps,
        y: 6,
        width: length / steps + 0.5,
        height: 12,
        fill: mix(palette.heat, step / (steps - 1)),
      }),
    );
  }
  root.append(s("text", { x: left + length + 6, y: 16, fill: palette.soft }, format.digits(highest, 3)));
  const right = left + length + textWidth(format.digits(highest, 3)) + 26;
  const text = width < 520 ? `< ${few} rows` : `fewer than ${few} rows`;
  if (right + 24 + textWidth(text) <= width) {
    root.append(
      s("rect", { x: right, y: 5, width: 18, height: 13, fill: hatching, "fill-opacity": 0.6, stroke: palette.soft }),
      s("text", { x: right + 24, y: 16, fill: palette.ink }, text),
    );
  }
  return root;
}

/// Which methods are drawn, and on which axes. The samples of the lines are the map's legend.
function methodSwitches(view) {
  const { study } = view;
  const samples = h("div", { class: "switches" });
  for (const method of study.methods) {
    const box = h("input", { type: "checkbox", "data-switch": method.name });
    box.checked = view.shown.has(method.name);
    box.addEventListener("change", () => view.show(method.name, box.checked));
    const sample = s("svg", { class: "sample", width: 34, height: 10, "aria-hidden": "true" });
    const paint = () => {
      const { color, dash, width } = lineOf(study, method.name, paletteOf(view.theme));
      sample.replaceChildren(
        s("line", {
          x1: 1,
          x2: 33,
          y1: 5,
          y2: 5,
          stroke: color,
          "stroke-width": width,
          "stroke-dasharray": dash || null,
        }),
      );
    };
    paint();
    view.on("theme", paint);
    const label = h("label", {}, box, sample, h("span", {}, labelOf(method)));
    const grey = () => label.classList.toggle("infeasible", !isFeasible(cellOf(method, view.bound)));
    grey();
    view.on("bound", grey);
    samples.append(label);
  }
  const axes = ["quantiles", "values"].map((kind) => {
    const radio = h("input", { type: "radio", name: "map-axes", value: kind });
    radio.checked = view.axes === kind;
    radio.addEventListener("change", () => view.setAxes(kind));
    return h("label", {}, radio, h("span", {}, kind));
  });
  return h(
    "div",
    { class: "controls" },
    h("fieldset", {}, h("legend", {}, "Rules drawn"), samples),
    h("fieldset", { class: "axes" }, h("legend", {}, "Axes of"), h("div", { class: "switches" }, axes)),
  );
}
