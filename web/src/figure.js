// SPDX-License-Identifier: MIT
// A figure: the drawing, its text alternative, its numbers in a table, and the buttons that save them. It draws itself again
// when what it shows changes, when its width does, and between light and dark.
import { csvText } from "./csv.js";
import { h } from "./dom.js";
import { paletteOf } from "./palette.js";
import { saveCsv, savePng, saveSvg } from "./save.js";
import { scrollBox, tableElement } from "./table.js";

const kNarrowest = 280;
const figures = new Set();
const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) target.limenFigure.fit();
});

// Figures in sight, or nearly, follow at once; the others one by one when the browser has time.
const sighted = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) target.limenFigure.see(isIntersecting);
  },
  { rootMargin: "300px" },
);
const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 20));
let waiting = false;

function later() {
  document.documentElement.dataset.settled = "no";
  if (waiting) return;
  waiting = true;
  whenIdle(() => {
    waiting = false;
    const next = [...figures].find((figure) => figure.isStale);
    next?.settle();
    if ([...figures].some((figure) => figure.isStale)) later();
    else document.documentElement.dataset.settled = "yes";
  });
}

/// Draws what is not up to date, all of it, now: paper waits for nothing.
export function settleAll() {
  for (const figure of figures) figure.settle();
}

/// Draws the first figure, so that there is something to see, and then the others.
export function begin() {
  const [first] = figures;
  first?.settle();
  later();
}

/// options:
///   id         name of the saved files
///   title      what is drawn, in a few words
///   on         events of the view (view.js) on which it changes
///   redrawOn   events on which it has to be drawn anew all the same
///   update     (drawing, palette): changes the drawing in place on these events, where drawing anew would be slow
///   draw       (width, palette) -> SVG element (compose of draw.js), or null: nothing to draw at this bound
///   describe   () -> the text alternative
///   table      () -> table (table.js)
///   note       () -> a sentence below the drawing, or null
///   nothing    text in place of a drawing
export function figure(view, options) {
  return new Figure(view, options).element;
}

class Figure {
  #drawn = 0;
  #drawing = null;
  #inSight = false;
  // What is not done yet: nothing (null), an update of the drawing ("change"), or a new one ("draw").
  #stale = "draw";

  constructor(view, options) {
    this.view = view;
    this.options = options;
    this.canvas = h("div", { class: "canvas" });
    this.canvas.limenFigure = this;
    this.note = h("p", { class: "note" });
    this.box = scrollBox(`The numbers: ${options.title}`);
    this.details = h("details", { class: "numbers" }, h("summary", {}, "The numbers"), this.box);
    this.details.addEventListener("toggle", () => this.#fillTable());
    const button = (text, what, action) => {
      const element = h("button", { type: "button", "aria-label": `${text}: ${options.title}` }, what);
      element.addEventListener("click", () => {
        this.settle();
        action();
      });
      return element;
    };
    this.tools = h(
      "div",
      { class: "tools" },
      h("span", { class: "save" }, "Save as "),
      button("Save as SVG", "SVG", () => saveSvg(options.id, this.#drawing, options.title, paletteOf(this.view.theme))),
      button("Save as PNG", "PNG", () => savePng(options.id, this.#drawing, options.title, paletteOf(this.view.theme))),
      button("Save as CSV", "CSV", () => saveCsv(options.id, csvText(options.table()))),
    );
    this.element = h(
      "figure",
      { "data-figure": options.id },
      h("figcaption", {}, options.title),
      this.canvas,
      this.note,
      h("div", { class: "below" }, this.details, this.tools),
    );
    view.on("theme", () => this.#renew("draw"));
    view.on(options.on ?? [], () => this.#renew("change"));
    view.on(options.redrawOn ?? [], () => this.#renew("draw"));
    figures.add(this);
    resized.observe(this.canvas);
    sighted.observe(this.canvas);
  }

  get isStale() {
    return this.#stale !== null;
  }

  see(inSight) {
    this.#inSight = inSight;
    if (inSight) this.settle();
  }

  fit() {
    const width = this.#width();
    if (width > 0 && width !== this.#drawn) this.#renew("draw");
  }

  #renew(what) {
    this.#stale = what === "draw" || this.#stale === "draw" || !this.options.update ? "draw" : "change";
    if (this.#inSight) this.settle();
    else later();
  }

  settle() {
    const stale = this.#stale;
    this.#stale = null;
    if (stale === "draw" || (stale === "change" && !this.#drawing)) this.#draw();
    if (stale === "change" && this.#drawing) this.options.update(this.#drawing, paletteOf(this.view.theme));
    if (stale !== null) this.#tell();
  }

  // A narrower page than any has figures that are scaled down.
  #width() {
    const width = Math.floor(this.canvas.clientWidth);
    return width > 0 ? Math.max(width, kNarrowest) : 0;
  }

  #draw() {
    const width = this.#width();
    if (width <= 0) return;
    this.#drawn = width;
    const { draw, nothing } = this.options;
    let text = nothing ?? "Nothing to draw at this bound.";
    try {
      this.#drawing = draw(width, paletteOf(this.view.theme));
    } catch (error) {
      console.error(error);
      this.#drawing = null;
      text = "This figure cannot be drawn.";
    }
    this.canvas.replaceChildren(this.#drawing ?? h("p", { class: "nothing" }, text));
    this.element.classList.toggle("empty", !this.#drawing);
  }

  #tell() {
    const { describe, note } = this.options;
    this.#drawing?.setAttribute("role", "img");
    this.#drawing?.setAttribute("aria-label", describe());
    this.note.textContent = note?.() ?? "";
    this.#fillTable();
  }

  // A closed table has no rows: some have thousands.
  #fillTable() {
    if (this.details.open)
      this.box.replaceChildren(tableElement({ caption: this.options.title, ...this.options.table() }));
    else this.box.replaceChildren();
  }
}
