// SPDX-License-Identifier: MIT
// The study (docs/study.md): reading it, and looking things up in it.

const kConstraints = {
  precision: { name: "precision", least: true },
  recall: { name: "recall", least: true },
  fpr: { name: "false-positive rate", least: false },
  "flag-rate": { name: "share flagged", least: false },
};

/// A page without a study that it can draw; the message is for its reader.
export class StudyError extends Error {}

/// Throws StudyError.
export function readStudy(text) {
  let study;
  try {
    study = JSON.parse(text);
  } catch {
    throw new StudyError("There is no study in this page: it was not made by limen report.");
  }
  if (study?.format !== "limen-study") throw new StudyError("What is in this page is not a study of limen report.");
  if (study.version !== 1)
    throw new StudyError(`This page draws studies of version 1; this one has version ${study.version}.`);
  for (const name of ["bounds", "decision", "methods", "rules"]) {
    if (!Array.isArray(study[name])) throw new StudyError(`The study is damaged: "${name}" is not a list.`);
  }
  if (study.bounds.length === 0) throw new StudyError("The study is damaged: it has no bounds.");
  const start = Number.isInteger(study.start) ? study.start : 0;
  study.start = Math.min(Math.max(start, 0), study.bounds.length - 1);
  return study;
}

/// {name: "precision", least: true, words: "precision of at least"} of the constraint.
export function constraintOf(study) {
  const key = study.goal?.constraint ?? "precision";
  const { name, least } = kConstraints[key] ?? { name: key, least: true };
  return { key, name, least, words: `${name} of at ${least ? "least" : "most"}` };
}

/// What is made as large as the constraint allows: "recall" or "precision".
export function goalOf(study) {
  return study.goal?.maximize ?? "recall";
}

/// The method that decides, at a bound.
export function decider(study, bound) {
  const name = study.decision[bound]?.method;
  return study.methods.find((method) => method.name === name) ?? study.methods[0];
}

export function singleThreshold(study) {
  return study.methods.find((method) => method.name === "st") ?? null;
}

/// What is shown of a method: its label, or its name.
export function labelOf(method) {
  return method.label || method.name;
}

/// The cell of a method at a bound, or null.
export function cellOf(method, bound) {
  return method?.at?.[bound] ?? null;
}

export function isFeasible(cell) {
  return cell !== null && cell.status !== "infeasible";
}

/// The rule of a cell, or null.
export function ruleOf(study, cell) {
  return cell && Number.isInteger(cell.rule) ? (study.rules[cell.rule] ?? null) : null;
}

/// "level 3 of 8", with the range of its uncertainty where that is known.
export function levelName(level, levels) {
  if (levels === 1) return "all rows";
  const note = level === 0 ? ", lowest uncertainty" : level === levels - 1 ? ", highest" : "";
  return `level ${level + 1}${note}`;
}
