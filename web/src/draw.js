// SPDX-License-Identifier: MIT
// What the figures share: plots in the page's type, several plots and a legend in one SVG, scales and marks.
import * as Plot from "@observablehq/plot";
import { s } from "./dom.js";

export const kFont = '"Inter", "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif';

/// Options that every plot has. Plot draws axes without a frame; the grid is only hinted at.
export function plot(palette, options) {
  const { marks, ...rest } = options;
  const drawn = Plot.plot({
    marginTop: 24,
    marginRight: 14,
    marginBottom: 43,
    marginLeft: 50,
    r: { type: "identity" },
    ...rest,
    style: {
      fontFamily: kFont,
      fontSize: "12px",
      color: palette.soft,
      background: "transparent",
      overflow: "visible",
      ...rest.style,
    },
    marks: marks.flat().filter(Boolean),
  });
  // The figure has one text alternative, for all of its parts.
  for (const part of drawn.querySelectorAll("[aria-label], [aria-description]")) {
    part.removeAttribute("aria-label");
    part.removeAttribute("aria-description");
  }
  return drawn;
}

/// Plots beside and below each other, a legend above, in one SVG of the given width.
/// panels: [{plot, title}], all of one size; legend: [{label, color, dash, width, kind: "line" | "box" | "dot" | "hatch"}].
export function compose({ width, panels, columns = 1, legend = [], palette, gap = 18 }) {
  const root = s("svg", { class: "drawing", "font-family": kFont, "font-size": 12, fill: palette.ink });
  let top = legend.length > 0 ? drawLegend(root, legend, width, palette) : 0;
  const begin = top;
  let bottom = top;
  panels.forEach(({ plot: panel, title }, index) => {
    const column = index % columns;
    const panelWidth = Number(panel.getAttribute("width"));
    const panelHeight = Number(panel.getAttribute("height"));
    if (column === 0) top = index === 0 ? begin : bottom + gap;
    const x = column * ((width - panelWidth) / Math.max(1, columns - 1) || 0);
    if (title)
      root.append(s("text", { x, y: top + 13, "font-weight": 600, fill: palette.ink, class: "panel-title" }, title));
    panel.setAttribute("x", x);
    panel.setAttribute("y", top + (title ? 18 : 0));
    // The style sheet of a plot lets its height follow its width, which makes an inner one as high as the outer one.
    panel.style.height = `${panelHeight}px`;
    panel.style.width = `${panelWidth}px`;
    panel.style.maxWidth = "none";
    root.append(panel);
    bottom = Math.max(bottom, top + (title ? 18 : 0) + panelHeight);
  });
  const height = Math.ceil(bottom);
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
    root.setAttribute(name, value);
  return root;
}

/// Width of the panels of a figure that has so many in a row.
export function panelWidth(width, columns, gap = 24) {
  return Math.floor((width - gap * (columns - 1)) / columns);
}

function drawLegend(root, items, width, palette) {
  const group = s("g", { class: "legend" });
  let x = 0;
  let y = 12;
  for (const { label, color, dash, width: stroke = 2, kind = "line" } of items) {
    const space = textWidth(label) + 34 + 18;
    if (x > 0 && x + space > width + 18) {
      x = 0;
      y += 20;
    }
    const mark =
      kind === "line"
        ? s("line", {
            x1: x,
            x2: x + 26,
            y1: y - 4,
            y2: y - 4,
            stroke: color,
            "stroke-width": stroke,
            "stroke-dasharray": dash || null,
          })
        : kind === "dot"
          ? s("circle", { cx: x + 13, cy: y - 4, r: 4.5, fill: color })
          : kind === "cross"
            ? s("path", { d: `M${x + 8.5},${y - 8.5}l9,9m0,-9l-9,9`, stroke: color, "stroke-width": 2.2, fill: "none" })
            : kind === "ring"
              ? s("circle", { cx: x + 13, cy: y - 4, r: 4, fill: palette.paper, stroke: color, "stroke-width": 2 })
              : s("rect", {
                  x: x + 4,
                  y: y - 11,
                  width: 18,
                  height: 13,
                  fill: color,
                  "fill-opacity": kind === "band" ? 0.25 : 1,
                  stroke: kind === "hatch" ? palette.soft : null,
                });
    group.append(mark, s("text", { x: x + 33, y, fill: palette.ink }, label));
    x += space;
  }
  root.append(group);
  return y + 14;
}

let measure = null;
export function textWidth(text, font = `12px ${kFont}`) {
  measure ??= document.createElement("canvas").getContext("2d");
  measure.font = font;
  return measure.measureText(text).width;
}

/// A pattern of diagonal lines, and the fill that refers to it. Ids are unique on the page.
let patterns = 0;
export function hatch(color, paper, spacing = 5) {
  const id = `hatch-${++patterns}`;
  const pattern = s(
    "pattern",
    { id, width: spacing, height: spacing, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    paper ? s("rect", { width: spacing, height: spacing, fill: paper }) : null,
    s("line", { x1: 0, y1: 0, x2: 0, y2: spacing, stroke: color, "stroke-width": 1.4 }),
  );
  return { definition: () => s("defs", {}, pattern), fill: `url(#${id})` };
}

/// A render step for a mark that names its group: figures are looked at by tests, and by style sheets.
export function named(attributes, rest = {}) {
  return {
    ...rest,
    render(index, scales, values, dimensions, context, next) {
      const group = next(index, scales, values, dimensions, context);
      if (group) for (const [name, value] of Object.entries(attributes)) group.setAttribute(name, value);
      return group;
    },
  };
}

/// How the box looks that says what is under the pointer.
export function tipStyle(palette) {
  return { fill: palette.paper, stroke: palette.faint, lineHeight: 1.3 };
}

/// The bound the slider is at, as a line across the plot.
export function boundRule(value, palette, across = "x", text = null) {
  const options = named({ "data-bound": value }, { stroke: palette.accent, strokeWidth: 1.5, strokeDasharray: "2 2" });
  if (across === "y") return Plot.ruleY([value], options);
  const label = {
    x: (at) => at,
    frameAnchor: "top",
    textAnchor: "start",
    dx: 6,
    dy: 8,
    text: () => text,
    fill: palette.accent,
    stroke: palette.paper,
    strokeWidth: 4,
    fontWeight: 600,
  };
  return [Plot.ruleX([value], options), text === null ? null : Plot.text([value], label)];
}

/// Powers of ten between two positive numbers, with their doubles and fives where there is room.
export function logTicks([low, high]) {
  const ticks = (steps) => {
    const values = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
      for (const step of steps) {
        const value = Number(`${step}e${power}`);
        if (value >= low && value <= high) values.push(value);
      }
    }
    return values;
  };
  const tens = ticks([1]);
  if (tens.length > 6) return tens.filter((_, at) => at % Math.ceil(tens.length / 6) === 0);
  return tens.length >= 4 ? tens : ticks(tens.length >= 3 ? [1, 3] : [1, 2, 5]);
}

/// Options of a logarithmic axis.
export function logAxis(domain, tickFormat) {
  return { type: "log", domain, ticks: logTicks(domain), tickFormat, grid: true, label: null, clamp: true };
}

/// Smallest interval that has all the numbers, a little wider; null where there are none.
export function extent(values, pad = 0.04) {
  const numbers = values.filter((value) => Number.isFinite(value));
  if (numbers.length === 0) return null;
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  const room = high > low ? (high - low) * pad : Math.abs(high) * pad || pad;
  return [low - room, high + room];
}

export { Plot };
