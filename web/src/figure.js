// SPDX-License-Identifier: MIT
// A figure: the drawing, its text alternative, its numbers in a table, and the buttons that save them. It draws itself again
// when what it shows changes, when its width does, and between light and dark.
import { h } from "./dom.js";
import { paletteOf } from "./palette.js";
import { saveCsv, savePng, saveSvg } from "./save.js";
import { csvText, scrollBox, tableElement } from "./table.js";

const kNarrowest = 280;
const figures = new Set();
const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) target.limenFigure?.fit();
});

/// options:
///   id         name of the saved files
///   title      what is drawn, in a few words
///   on         events of the view (view.js) on which it changes
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
      element.addEventListener("click", action);
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
    this.element = h("figure", { "data-figure": options.id }, h("figcaption", {}, options.title), this.canvas, this.note, h("div", { class: "below" }, this.details, this.tools));
    view.on("theme", () => this.draw());
    view.on(options.on ?? [], () => this.#change());
    figures.add(this);
    resized.observe(this.canvas);
  }

  fit() {
    const width = this.#width();
    if (width > 0 && width !== this.#drawn) this.draw();
  }

  // A narrower page than any has figures that are scaled down.
  #width() {
    const width = Math.floor(this.canvas.clientWidth);
    return width > 0 ? Math.max(width, kNarrowest) : 0;
  }

  #change() {
    if (!this.options.update || !this.#drawing) return this.draw();
    this.options.update(this.#drawing, paletteOf(this.view.theme));
    this.#tell();
  }

  draw() {
    const width = this.#width();
    if (width <= 0) return;
    this.#drawn = width;
    const { draw, nothing } = this.options;
    this.#drawing = draw(width, paletteOf(this.view.theme));
    this.canvas.replaceChildren(this.#drawing ?? h("p", { class: "nothing" }, nothing ?? "Nothing to draw at this bound."));
    this.element.classList.toggle("empty", !this.#drawing);
    this.#tell();
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
    if (this.details.open) this.box.replaceChildren(tableElement({ caption: this.options.title, ...this.options.table() }));
    else this.box.replaceChildren();
  }
}

/// Draws every figure that is on the page; once, after all of them are.
export function drawAll() {
  for (const figure of figures) figure.fit();
}
