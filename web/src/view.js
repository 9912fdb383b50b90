// SPDX-License-Identifier: MIT
// What the reader has chosen: the bound, the methods that are drawn, the axes of the map, light or dark. Whoever draws
// subscribes to what it shows.

export class View {
  #listeners = new Map();
  #printing = false;
  #choice = null;

  constructor(study) {
    this.study = study;
    this.bound = study.start;
    const first = study.methods.slice(0, 1).map((method) => method.name);
    this.shown = new Set([...first, "st"]);
    this.axes = "quantiles";
    this.level = 0;
    this.#dark = matchMedia("(prefers-color-scheme: dark)");
    this.#dark.addEventListener("change", () => this.#showTheme());
    const print = matchMedia("print");
    const printing = (now) => {
      this.#printing = now;
      this.#showTheme();
      if (now) this.#tell("print");
    };
    print.addEventListener("change", () => printing(print.matches));
    addEventListener("beforeprint", () => printing(true));
    addEventListener("afterprint", () => printing(false));
    this.#printing = print.matches;
    this.#showTheme();
  }
  #dark;

  on(events, listener) {
    for (const event of [events].flat()) {
      if (!this.#listeners.has(event)) this.#listeners.set(event, new Set());
      this.#listeners.get(event).add(listener);
    }
  }

  #tell(event) {
    for (const listener of this.#listeners.get(event) ?? []) listener();
  }

  setBound(index) {
    const last = this.study.bounds.length - 1;
    const wanted = Math.min(Math.max(Math.round(index), 0), last);
    if (wanted === this.bound) return;
    this.bound = wanted;
    this.#tell("bound");
  }

  show(name, shown) {
    if (shown) this.shown.add(name);
    else this.shown.delete(name);
    this.#tell("methods");
  }

  setAxes(axes) {
    this.axes = axes;
    this.#tell("axes");
  }

  /// "light", "dark", or null: as the system has it.
  setTheme(theme) {
    this.#choice = theme;
    this.#showTheme();
  }

  // Paper is light, whatever the screen is.
  #showTheme() {
    const chosen = this.#choice ?? (this.#dark.matches ? "dark" : "light");
    const theme = this.#printing ? "light" : chosen;
    if (theme === this.theme) return;
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    this.#tell("theme");
  }
}
