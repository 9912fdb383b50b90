// SPDX-License-Identifier: MIT
// The top of the page: the decision in one sentence, the figures behind it, and the slider that moves the bound.
import { h } from "./dom.js";
import * as format from "./format.js";
import { cellOf, constraintOf, decider, goalOf, isFeasible, singleThreshold } from "./study.js";

const kGains = {
  yes: "Uncertainty helps",
  no: "Uncertainty does not help",
  unsure: "Whether uncertainty helps is not certain",
};

/// The heading, the sentence, the figures and the guarantee.
export function decisionSection(view) {
  const { study } = view;
  const sentence = h("p", { class: "sentence", id: "sentence" });
  const gains = h("p", { class: "gains", id: "gains" });
  const guarantee = h("p", { class: "guarantee", id: "guarantee" });
  const figures = h("dl", { class: "figures", id: "figures" });

  function tile(name, value, text, below, what) {
    return h(
      "div",
      { "data-what": what, "data-value": value ?? null },
      h("dt", {}, name),
      h("dd", {}, h("strong", {}, text), below ? h("small", {}, below) : null),
    );
  }

  function fill() {
    const decision = study.decision[view.bound] ?? {};
    const method = decider(study, view.bound);
    const cell = cellOf(method, view.bound);
    sentence.textContent = decision.sentence ?? "";
    gains.textContent = kGains[decision.gains] ?? "";
    gains.dataset.gains = decision.gains ?? "";
    guarantee.replaceChildren(h("strong", {}, "Guarantee: "), decision.guarantee || "none");
    const counts = isFeasible(cell) ? cell.holdout : null;
    const one = cellOf(singleThreshold(study), view.bound);
    const expected = study.gain?.expected?.[view.bound] ?? null;
    const band = [study.gain?.expected_low?.[view.bound] ?? null, study.gain?.expected_high?.[view.bound] ?? null];
    figures.replaceChildren(
      ...[
        tile(
          "Recall on the hold-out",
          counts?.recall,
          format.ratio(counts?.recall),
          counts && `${format.interval(counts.recall_interval)}`,
          "recall",
        ),
        tile(
          "Precision on the hold-out",
          counts?.precision,
          format.ratio(counts?.precision),
          counts && `${format.interval(counts.precision_interval)}`,
          "precision",
        ),
        tile(
          "Rows flagged",
          counts?.flagged,
          format.count(counts?.flagged),
          counts && `${format.count(counts.true_positives)} of them positive`,
          "flagged",
        ),
        study.gain
          ? tile(
              "Expected gain over one threshold",
              expected,
              format.change(expected),
              band[0] === null ? null : format.interval(band, format.change),
              "expected",
            )
          : tile(
              "Gain over one threshold",
              cell?.gain?.holdout,
              format.change(cell?.gain?.holdout),
              one?.holdout
                ? `on the hold-out; it has ${goalOf(study)} ${format.ratio(one.holdout[goalOf(study)])}`
                : null,
              "gain",
            ),
      ],
    );
  }
  fill();
  view.on("bound", fill);
  reserve(view, [
    [sentence, (decision) => decision.sentence],
    [guarantee, (decision) => `Guarantee: ${decision.guarantee}`],
  ]);
  return h(
    "section",
    { class: "decision", "aria-label": "The decision" },
    sentence,
    h("div", { class: "verdict" }, gains, guarantee),
    figures,
  );
}

/// The slider must not move under the pointer that moves it: texts above it have room for the longest one from the start.
function reserve(view, texts) {
  const longest = (of) => {
    const all = [...new Set(view.study.decision.map((decision) => String(of(decision ?? {}) ?? "")))];
    return all.sort((one, other) => other.length - one.length).slice(0, 3);
  };
  for (const [element, of] of texts) {
    const candidates = longest(of);
    let width = 0;
    new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      element.style.minHeight = "";
      const shadow = element.cloneNode(false);
      shadow.removeAttribute("id");
      shadow.style.cssText = `position: absolute; visibility: hidden; min-height: 0; width: ${width}px`;
      element.after(shadow);
      const heights = candidates.map((text) => {
        shadow.textContent = text;
        return shadow.offsetHeight;
      });
      shadow.remove();
      element.style.minHeight = `${Math.max(...heights)}px`;
    }).observe(element);
  }
}

/// The slider, which stays in sight.
export function boundBar(view) {
  const { study } = view;
  const constraint = constraintOf(study);
  const last = study.bounds.length - 1;
  const slider = h("input", { type: "range", id: "bound", min: 0, max: last, step: 1 });
  const shown = h("output", { for: "bound", id: "bound-value" });
  const result = h("p", {
    class: "result",
    id: "result",
    role: "status",
    "aria-live": "polite",
    "aria-atomic": "true",
  });
  const asked = h(
    "button",
    { type: "button", class: "asked" },
    `asked for: ${format.bound(study.bounds[study.start])}`,
  );
  asked.addEventListener("click", () => view.setBound(study.start));

  // Several moves within one frame are drawn once.
  let waiting = false;
  slider.addEventListener("input", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      view.setBound(Number(slider.value));
    });
  });

  function fill() {
    const cell = cellOf(decider(study, view.bound), view.bound);
    const text = format.bound(study.bounds[view.bound]);
    slider.value = String(view.bound);
    slider.setAttribute("aria-valuetext", `${constraint.words} ${text}`);
    slider.style.setProperty("--at", last === 0 ? "50%" : `${(100 * view.bound) / last}%`);
    shown.textContent = text;
    asked.hidden = view.bound === study.start;
    if (!isFeasible(cell)) {
      result.textContent = "No rule keeps this bound on the hold-out.";
      return;
    }
    const parts = [
      `${goalOf(study)} ${format.ratio(cell.holdout?.[goalOf(study)])} on the hold-out`,
      `${format.count(cell.holdout?.flagged)} rows flagged`,
    ];
    const expected = study.gain?.expected?.[view.bound] ?? null;
    if (expected !== null) parts.push(`${format.change(expected)} expected over one threshold`);
    const certified = study.certification?.[view.bound]?.status;
    if (certified) parts.push(certified);
    result.textContent = parts.join(" \u00b7 ");
  }
  fill();
  view.on("bound", fill);
  return h(
    "div",
    { class: "bar", role: "region", "aria-label": "Bound" },
    h(
      "div",
      { class: "inner" },
      h(
        "div",
        { class: "knob" },
        h("label", { for: "bound" }, `${constraint.words[0].toUpperCase()}${constraint.words.slice(1)}`),
        shown,
        slider,
        asked,
      ),
      result,
    ),
  );
}

export function decisionTitle(study) {
  const data = [study.data?.holdout?.name, study.data?.test?.name].filter(Boolean);
  return h(
    "div",
    { class: "head" },
    h("h1", {}, study.title || "Report"),
    data.length > 0
      ? h("p", { class: "source" }, `${data.length > 1 ? "Hold-out and test: " : "Hold-out: "}${data.join(", ")}`)
      : null,
  );
}
