// SPDX-License-Identifier: MIT
// The report page: reads the study that stands in it, and puts the sections in order. What a study lacks is left out.
import "./style.css";
import { boundBar, decisionSection, decisionTitle } from "./decision.js";
import { anchor, h } from "./dom.js";
import { begin, settleAll } from "./figure.js";
import { biasCurves } from "./figures/bias.js";
import { calibrationErrors } from "./figures/calibration.js";
import { certificationWalk } from "./figures/certification.js";
import { choiceOfAuto } from "./figures/choice.js";
import { dataAndSettings } from "./figures/data.js";
import { frontier } from "./figures/frontier.js";
import { gainByBound } from "./figures/gain.js";
import { positivityByLevel } from "./figures/levels.js";
import { positivityMap } from "./figures/map.js";
import { methodsAtBound } from "./figures/methods.js";
import { monitorPath } from "./figures/monitor.js";
import { swapSets } from "./figures/swaps.js";
import { levelsAndBins } from "./figures/sweep.js";
import { trainingCurves } from "./figures/training.js";
import { goalOf, readStudy, StudyError } from "./study.js";
import { View } from "./view.js";

const some = (list) => Array.isArray(list) && list.some((entry) => entry !== null);

/// [id, heading, what it says and how to read it, has the study it, its content]
const kSections = [
  [
    "map",
    "Where the positives are",
    "The stronger the colour of a cell, the more of its rows are positive. A rule flags the rows on the right of its line: one threshold is a straight line, a rule that knows the uncertainty bends.",
    (study) => study.positivity,
    positivityMap,
  ],
  [
    "levels",
    "What uncertainty adds to the score",
    "If uncertainty said nothing beyond the score, all levels would lie on one line. Where they part, the same score means different things.",
    (study) => study.positivity,
    positivityByLevel,
  ],
  [
    "frontier",
    "What can be reached",
    "Every point is a rule. The distance between the two curves is what knowing the uncertainty is worth on these rows.",
    (study) => study.frontier,
    frontier,
  ],
  [
    "gain",
    "What is gained over one threshold",
    "On the hold-out the rule was chosen, so its gain there is flattering. The expected gain was measured on rows left out.",
    (study) => study.gain,
    gainByBound,
  ],
  ["methods", "All methods at this bound", null, (study) => study.methods.length > 0, methodsAtBound],
  ["choice", "What was tried, and why this was chosen", null, (study) => some(study.choice), choiceOfAuto],
  [
    "certification",
    "What is certified",
    "Certified is more than expected: over the drawing of the hold-out, the bound is kept with the confidence that was asked for.",
    (study) => some(study.certification),
    certificationWalk,
  ],
  ["sweep", "How many levels and bins", null, (study) => study.sweep, levelsAndBins],
  [
    "calibration",
    "Calibration",
    "How far probabilities are from the share of positives, bin by bin. Errors of the top bins are those that decisions rest on.",
    (study) => study.calibration,
    calibrationErrors,
  ],
  ["swaps", "What changes against one threshold", null, (study) => some(study.swaps), swapSets],
  [
    "bias",
    "Why the score says too much",
    "Where few training rows stand behind a score, or negatives were left out in training, fewer rows are positive than the score says.",
    (study) => study.bias,
    biasCurves,
  ],
  ["training", "Training", null, (study) => study.training?.length > 0, trainingCurves],
  ["monitor", "In deployment", null, (study) => study.monitor, monitorPath],
  ["data", "Data and settings", null, () => true, dataAndSettings],
];

/// One section that cannot be shown leaves the others be.
function contentOf(make, view) {
  try {
    return make(view);
  } catch (error) {
    console.error(error);
    return h("p", { class: "nothing" }, "This section does not fit the page.");
  }
}

function themeSwitch(view) {
  const button = h("button", { type: "button", class: "theme", id: "theme" });
  const fill = () => {
    button.textContent = view.theme === "dark" ? "Light page" : "Dark page";
  };
  button.addEventListener("click", () => view.setTheme(view.theme === "dark" ? "light" : "dark"));
  fill();
  view.on("theme", fill);
  return button;
}

function build(study) {
  const view = new View(study);
  const sections = kSections.filter(([, , , has]) => has(study));
  const contents = h(
    "nav",
    { class: "contents", "aria-label": "On this page" },
    h(
      "ol",
      {},
      sections.map(([id, heading]) => h("li", {}, anchor(id, heading))),
    ),
  );
  const skip = anchor("main", "To the report");
  skip.className = "skip";
  document.body.append(
    skip,
    h(
      "header",
      { class: "page-head" },
      h("div", { class: "inner" }, h("p", { class: "brand" }, "Limen report"), themeSwitch(view)),
    ),
    h(
      "main",
      { id: "main" },
      h("div", { class: "inner" }, decisionTitle(study), decisionSection(view)),
      boundBar(view),
      h(
        "div",
        { class: "inner" },
        contents,
        sections.map(([id, heading, text, , content]) =>
          h(
            "section",
            { id, "aria-labelledby": `${id}-heading` },
            h("h2", { id: `${id}-heading` }, heading),
            text ? h("p", { class: "lead" }, text) : null,
            contentOf(content, view),
          ),
        ),
      ),
    ),
    h(
      "footer",
      {},
      h(
        "div",
        { class: "inner" },
        `Made by limen ${study.limen ?? ""}: the figures on this page are those of the study; ${goalOf(study)} is as high as the bound allows.`,
      ),
    ),
  );
  view.on("print", settleAll);
  begin();
  document.documentElement.dataset.ready = "yes";
}

function refuse(message) {
  document.body.append(
    h("main", {}, h("div", { class: "inner" }, h("h1", {}, "This report cannot be shown"), h("p", {}, message))),
  );
  document.documentElement.dataset.ready = "failed";
}

try {
  build(readStudy(document.getElementById("study").textContent));
} catch (error) {
  refuse(error instanceof StudyError ? error.message : "Its study does not fit this page.");
  if (!(error instanceof StudyError)) console.error(error);
}
