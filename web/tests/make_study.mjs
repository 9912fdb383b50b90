// SPDX-License-Identifier: MIT
// Studies (docs/study.md) of simulated rows, for the tests and for looking at the page:
//   node tests/make_study.mjs full|minimal|hostile|large|weighted|fpr > study.json
// Rows are drawn by a model whose score says too much where few training rows stand behind it. Rules are the best ones of
// each family on a histogram; intervals and p-values are normal approximations. Equal names give equal studies.
import { pathToFileURL } from "node:url";

const kBuckets = 400;
const kFamilies = {
  auto: 16,
  st: 1,
  exact: 4,
  smooth: 16,
  joint: 5,
  hr: 3,
  gmt: 6,
  mist: 8,
  "ew-dpmt": 10,
  "vw-dpmt": 11,
};
const kLabels = {
  auto: "Chosen by limen",
  st: "One threshold",
  exact: "Exact",
  smooth: "Smooth",
  joint: "Joint",
  hr: "Heuristic recalibration",
  gmt: "Greedy",
  mist: "Isotonic by level",
  "ew-dpmt": "Dynamic programme, equal weight",
  "vw-dpmt": "Dynamic programme, variable weight",
};

function random(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

function drawRows(count, seed, { weighted, jitter = 0 }) {
  const { uniform, normal } = random(seed);
  return Array.from({ length: count }, () => {
    const p = 1 - (1 - uniform()) ** (1 / 3); // Beta(1, 3)
    const n = Math.min(4000, Math.round(6 * (1 - uniform()) ** (-1 / 0.7)));
    const seen = (3 * p) / (3 * p + 1 - p);
    let k = 0;
    if (n < 60) for (let row = 0; row < n; ++row) k += uniform() < seen ? 1 : 0;
    else k = Math.min(n, Math.max(0, Math.round(n * seen + normal() * Math.sqrt(n * seen * (1 - seen)))));
    return {
      score: Math.min(1, Math.max(0, (k + 1) / (n + 2) + (jitter > 0 ? jitter * normal() : 0))),
      uncertainty: -Math.log(n + 2) + 0.05 * normal(),
      label: uniform() < p ? 1 : 0,
      weight: weighted ? 0.25 + 1.5 * uniform() : 1,
    };
  });
}

function quantiles(values, parts) {
  const sorted = [...values].sort((a, b) => a - b);
  const edges = [];
  for (let part = 1; part < parts; ++part)
    edges.push(Number(sorted[Math.floor((part * sorted.length) / parts)].toPrecision(7)));
  return edges.filter((edge, at) => at === 0 || edge > edges[at - 1]);
}

const placeOf = (edges, value) => {
  let low = 0,
    high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edges[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
};

function interval(hits, of, z = 1.96) {
  if (of === 0) return [0, 1];
  const p = hits / of;
  const middle = (p + (z * z) / (2 * of)) / (1 + (z * z) / of);
  const half = (z / (1 + (z * z) / of)) * Math.sqrt((p * (1 - p)) / of + (z * z) / (4 * of * of));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

const flags = (rule, row) => {
  const threshold = rule.thresholds[placeOf(rule.edges, row.uncertainty)];
  return threshold !== null && row.score >= threshold;
};

function countsOf(rule, rows) {
  let total = 0,
    positives = 0,
    flagged = 0,
    hits = 0;
  for (const row of rows) {
    total += row.weight;
    positives += row.label * row.weight;
    if (!flags(rule, row)) continue;
    flagged += row.weight;
    hits += row.label * row.weight;
  }
  return {
    rows: total,
    positives,
    flagged,
    true_positives: hits,
    precision: flagged > 0 ? hits / flagged : null,
    precision_interval: interval(hits, flagged),
    recall: hits / positives,
    recall_interval: interval(hits, positives),
  };
}

/// Rules of a family from strict to loose, each with its counts on a histogram: where the gain of a row at a level falls
/// below a price, the level's threshold lies.
function chainOf(rows, levels) {
  const edges = quantiles(
    rows.map((row) => row.uncertainty),
    levels,
  );
  const histogram = Array.from({ length: edges.length + 1 }, () => Array.from({ length: kBuckets }, () => [0, 0]));
  for (const row of rows) {
    const cell = histogram[placeOf(edges, row.uncertainty)][Math.min(kBuckets - 1, Math.floor(row.score * kBuckets))];
    cell[0] += row.weight;
    cell[1] += row.weight * row.label;
  }
  const chain = [];
  for (let step = 0; step <= 500; ++step) {
    const price = 1 - step / 500;
    let flagged = 0,
      hits = 0;
    const thresholds = histogram.map((level) => {
      let best = 0,
        at = null,
        all = 0,
        good = 0,
        kept = [0, 0];
      for (let bucket = kBuckets - 1; bucket >= 0; --bucket) {
        all += level[bucket][0];
        good += level[bucket][1];
        const value = good - price * all;
        if (value > best + 1e-9) [best, at, kept] = [value, bucket / kBuckets, [all, good]];
      }
      flagged += kept[0];
      hits += kept[1];
      return at;
    });
    chain.push({ rule: { edges, thresholds }, flagged, hits });
  }
  return chain;
}

const kShapes = {
  full: {},
  minimal: { minimal: true, bounds: 1, methods: ["auto", "st"], rows: 4000, levels: 3, bins: 8 },
  hostile: { hostile: true, rows: 4000, bounds: 7, methods: ["auto", "st", "exact"] },
  large: {
    jitter: 0.01,
    levels: 11,
    bins: 1000,
    bounds: 60,
    methods: ["auto", "st", "exact", "joint", "hr", "gmt", "mist", "ew-dpmt"],
    rows: 60000,
  },
  weighted: { weighted: true, rows: 6000, bounds: 9, methods: ["auto", "st", "smooth"], noTest: true },
  fpr: { constraint: "fpr", rows: 6000, bounds: 9, methods: ["auto", "st", "exact"] },
};

export const shapes = Object.keys(kShapes);
export const attacks = [
  "</script><script>window.hacked=1</script>",
  '"><img src=x onerror=window.hacked=2>',
  "javascript:window.hacked=3",
  "<!--<script>window.hacked=4",
  "{{window.hacked=5}}",
  "<svg onload=window.hacked=6>",
  "'+alert(1)+'\u2028\u2029&lt;b&gt;",
  '=HYPERLINK("x")',
];

export function makeStudy(name) {
  const shape = {
    rows: 30000,
    bounds: 41,
    levels: 8,
    bins: 24,
    methods: Object.keys(kFamilies),
    constraint: "precision",
    ...kShapes[name],
  };
  const holdout = drawRows(shape.rows, 1, shape);
  const test = shape.noTest || shape.minimal ? null : drawRows(shape.rows, 2, shape);
  const isPrecision = shape.constraint === "precision";
  const first = isPrecision ? 0.3 : 0.01;
  const step = isPrecision ? 0.69 / Math.max(1, shape.bounds - 1) : 0.01;
  const bounds = Array.from({ length: shape.bounds }, (_, at) => Number((first + at * step).toFixed(4)));
  const start = Math.floor(0.4 * (shape.bounds - 1));
  const rules = [];
  const positives = holdout.reduce((sum, row) => sum + row.label * row.weight, 0);
  const negatives = holdout.reduce((sum, row) => sum + (1 - row.label) * row.weight, 0);
  const worth = (entry) => (isPrecision ? entry.hits / entry.flagged : (entry.flagged - entry.hits) / negatives);
  const keeps = (entry, bound) => entry.flagged > 0 && (isPrecision ? worth(entry) >= bound : worth(entry) <= bound);

  const methods = shape.methods.map((method) => {
    const chain = chainOf(holdout, kFamilies[method]);
    const at = bounds.map((bound, index) => {
      const kept = chain
        .filter((entry) => keeps(entry, bound))
        .sort((a, b) => b.hits - a.hits || a.flagged - b.flagged)[0];
      if (!kept || (method === "hr" && index % 5 === 4)) {
        const best = chain.filter((entry) => entry.flagged > 0).map(worth);
        return {
          status: "infeasible",
          best: isPrecision ? Math.max(...best) : Math.min(...best),
          chosen: null,
          rule: null,
          holdout: null,
          test: null,
          recall_bound: null,
          gap: null,
          gain: { holdout: null, test: null },
          expected: null,
          seconds: null,
        };
      }
      let rule = rules.findIndex((other) => JSON.stringify(other) === JSON.stringify(kept.rule));
      if (rule < 0) rule = rules.push(kept.rule) - 1;
      const counts = countsOf(kept.rule, holdout);
      const proven = Math.min(1, counts.recall * (method === "auto" || method === "exact" ? 1 : 1.01));
      return {
        status: method === "joint" && index % 7 === 3 ? "limit" : "optimal",
        best: null,
        chosen: method === "auto" ? "smooth" : null,
        rule,
        holdout: counts,
        test: test && countsOf(kept.rule, test),
        recall_bound: proven,
        gap: (proven - counts.recall) / proven,
        gain: null,
        expected: {
          precision: counts.precision_interval.map((x) => x - 0.004),
          recall: counts.recall_interval.map((x) => 0.99 * x),
          by: "cross-validation",
        },
        seconds: name === "full" ? 0.0004 * kFamilies[method] * (1 + index / 40) : null,
      };
    });
    return {
      name: method,
      label: kLabels[method],
      levels: kFamilies[method],
      bins: method === "ew-dpmt" ? 100 : "all",
      at,
    };
  });
  const st = methods.find((method) => method.name === "st");
  for (const method of methods) {
    method.at.forEach((cell, index) => {
      const one = st.at[index];
      if (!cell.holdout) return;
      cell.gain = {
        holdout: one.holdout ? cell.holdout.recall / one.holdout.recall - 1 : null,
        test: cell.test && one.test ? cell.test.recall / one.test.recall - 1 : null,
      };
    });
  }
  const auto = methods[0];
  const study = {
    format: "limen-study",
    version: 1,
    limen: "0.1.0",
    title: "Which claims to review: score and evidence",
    data: {
      holdout: {
        name: "holdout.csv",
        rows: shape.rows,
        positives,
        weighted: Boolean(shape.weighted),
        rows_dropped: 12,
      },
      test: test && {
        name: "test.csv",
        rows: shape.rows,
        positives: test.reduce((sum, row) => sum + row.label * row.weight, 0),
        weighted: Boolean(shape.weighted),
        rows_dropped: 0,
      },
      columns: { score: "score", uncertainty: "uncertainty", label: "label", weight: shape.weighted ? "weight" : null },
      larger_is_less_certain: true,
    },
    settings: [
      { name: "--levels", value: "auto" },
      { name: "--confidence", value: "0.9" },
      { name: "--seed", value: "0" },
    ],
    command: `limen report holdout.csv --test test.csv --${shape.constraint} ${bounds[start]}`,
    goal: { maximize: "recall", constraint: shape.constraint },
    bounds,
    start,
    confidence: 0.95,
    certified_confidence: shape.minimal ? null : 0.9,
    decision: bounds.map((bound, index) => decide(bound, index)),
    methods,
    rules,
    positivity: null,
    frontier: null,
    gain: null,
    choice: null,
    certification: null,
    sweep: null,
    calibration: null,
    swaps: null,
    bias: null,
    training: null,
    monitor: null,
  };

  function decide(bound, index) {
    const cell = auto.at[index];
    const words = { precision: "precision", fpr: "false-positive rate" }[shape.constraint];
    const least = isPrecision ? "or more" : "or less";
    if (!cell.holdout)
      return {
        sentence: `At ${words} ${bound} ${least}, nothing can be flagged: ${cell.best.toFixed(4)} is the best that any rule reaches on the hold-out.`,
        method: "auto",
        gains: "no",
        guarantee: "none: no rule keeps this bound on the hold-out",
      };
    const gain = cell.gain.holdout;
    return {
      sentence:
        `At ${words} ${bound} ${least}, 16 thresholds, one for each uncertainty level, find ${(100 * cell.holdout.recall).toFixed(1)}% of the positives on the hold-out` +
        (gain === null
          ? "."
          : `, ${Math.abs(100 * gain).toFixed(1)}% ${gain < 0 ? "fewer" : "more"} than one threshold.`),
      method: "auto",
      gains: gain > 0.02 ? "yes" : gain > 0 ? "unsure" : "no",
      guarantee:
        index % 6 === 5
          ? "none: no rule could be certified at this bound; about 48,000 labelled rows would be needed"
          : `certified at confidence 0.9 for rows drawn like the hold-out and scored by the same model`,
    };
  }
  if (shape.minimal) return study;

  const edges = quantiles(
    holdout.map((row) => row.uncertainty),
    shape.levels,
  );
  const scoreEdges = quantiles(
    holdout.filter((_, at) => at % 2 === 0).map((row) => row.score + 1e-6 * row.uncertainty),
    shape.bins,
  );
  const cells = () => Array.from({ length: edges.length + 1 }, () => Array(scoreEdges.length + 1).fill(0));
  const all = cells(),
    good = cells(),
    sums = cells();
  for (const row of holdout) {
    const level = placeOf(edges, row.uncertainty),
      bin = placeOf(scoreEdges, row.score);
    all[level][bin] += row.weight;
    good[level][bin] += row.weight * row.label;
    sums[level][bin] += row.weight * row.score;
  }
  const six = (value) => (value === null ? null : Number(value.toPrecision(6)));
  const each = (make) => all.map((row, level) => row.map((_, bin) => six(make(level, bin))));
  const range = (of) => [
    Math.min(...holdout.slice(0, 4000).map(of)) - 0.001,
    Math.max(...holdout.slice(0, 4000).map(of)) + 0.001,
  ];
  study.positivity = {
    score_edges: scoreEdges,
    uncertainty_edges: edges,
    score_range: range((row) => row.score),
    uncertainty_range: range((row) => row.uncertainty),
    rows: all,
    positives: good,
    rate: each((l, b) => (all[l][b] > 0 ? good[l][b] / all[l][b] : null)),
    low: each((l, b) => (all[l][b] > 0 ? interval(good[l][b], all[l][b])[0] : null)),
    high: each((l, b) => (all[l][b] > 0 ? interval(good[l][b], all[l][b])[1] : null)),
    mean_score: each((l, b) => (all[l][b] > 0 ? sums[l][b] / all[l][b] : null)),
    few: 20,
  };

  const curve = (levels) => {
    const points = chainOf(holdout, levels)
      .filter((entry) => entry.flagged > 0 && entry.flagged / holdout.length > 0.002)
      .map((entry) => [entry.hits / entry.flagged, entry.hits / positives])
      .sort((a, b) => a[0] - b[0]);
    return {
      precision: points.map((p) => p[0]),
      recall: points.map((p) => p[1]),
      low: points.map((p) => interval(p[1] * positives, positives)[0]),
      high: points.map((p) => interval(p[1] * positives, positives)[1]),
    };
  };
  study.frontier = { confidence: 0.95, st: curve(1), surface: curve(11) };

  const gains = auto.at.map((cell) => cell.gain.holdout);
  study.gain = {
    in_sample: gains,
    expected: gains.map((gain) => (gain === null ? null : gain * 0.85 - 0.004)),
    expected_low: gains.map((gain, at) => (gain === null ? null : gain * 0.6 - 0.01 - at * 0.001)),
    expected_high: gains.map((gain, at) => (gain === null ? null : gain * 1.05 + 0.005 + at * 0.001)),
    test: test && auto.at.map((cell) => cell.gain.test),
    by: "cross-validation",
  };

  study.choice = bounds.map((bound, index) =>
    auto.at[index].holdout === null
      ? null
      : {
          information_p: index % 3 ? 0.00002 : 0.0312,
          candidates: [
            ["st", 1, 0, 0],
            ["smooth", 16, 0.05, 0.011],
            ["exact", 2, 0.022, 0.009],
            ["exact", 4, 0.038, 0.012],
            ["exact", 8, 0.041, 0.016],
            ["exact", 16, 0.029, 0.02],
            ["joint", 5, 0.044, 0.018],
          ].map(([method, levels, gain, error]) => ({
            method,
            levels,
            gain: gain * (0.6 + index / 50),
            gain_se: error,
            lift: gain / 12,
            lift_se: error / 14,
          })),
          why: "uncertainty informs (p < 0.001); smooth on 16 levels was the best on rows left out",
        },
  );

  study.certification = bounds.map((bound, index) => {
    const cell = auto.at[index];
    if (!cell.holdout || index % 6 === 5)
      return {
        status: "not certifiable",
        why: "no step of the walk was accepted",
        method: "smooth",
        rule: null,
        holdout: null,
        test: null,
        guarantee: null,
        walk: cell.holdout
          ? {
              level: 0.1,
              steps: [{ flagged: 40, true_positives: 31, estimate: 31 / 40, p_value: 0.31, accepted: false }],
              last: null,
              test: "binomial",
            }
          : null,
      };
    const steps = [];
    let last = null;
    for (let place = 0; place < 18; ++place) {
      const flagged = Math.round(cell.holdout.flagged * (0.3 + place * 0.05));
      const rate = Math.min(0.99, bound + 0.12 * (1 - place / 15.5));
      const z = (rate - bound) / Math.sqrt((bound * (1 - bound)) / flagged);
      const p = Math.min(1, Math.max(1e-12, 0.5 * Math.exp(-0.717 * z - 0.416 * z * z)));
      steps.push({
        flagged,
        true_positives: Math.round(rate * flagged),
        estimate: rate,
        p_value: p,
        accepted: p <= 0.1,
      });
      if (p > 0.1) break;
      last = place;
    }
    return {
      status: "certified",
      why: "the last step of the walk that was accepted",
      method: "smooth",
      rule: cell.rule,
      holdout: cell.holdout,
      test: cell.test,
      guarantee: {
        constraint: shape.constraint,
        bound,
        confidence: 0.9,
        learning_rows: 5000,
        rows: 15000,
        positives: 3700,
        flagged: steps[last ?? 0].flagged,
        true_positives: steps[last ?? 0].true_positives,
        p_value: steps[last ?? 0].p_value,
        test: "binomial",
        seed: 0,
        valid_for: "rows drawn like the hold-out, scored by the same model",
      },
      walk: { level: 0.1, steps, last, test: "binomial" },
    };
  });

  const sweepCells = [];
  for (const levels of [1, 2, 3, 5, 8, 13, 21]) {
    for (const bins of [20, 50, 100, 200, 500, 1000, "all"]) {
      const size = bins === "all" ? 2000 : bins;
      const gain =
        levels === 1 && bins === 20
          ? null
          : 0.06 - 0.02 * Math.abs(Math.log(levels / 6)) - 0.016 * Math.abs(Math.log(size / 250));
      sweepCells.push({
        levels,
        levels_used: levels,
        bins,
        value: gain === null ? null : 0.12 * (1 + gain),
        gain,
        gain_se: gain === null ? null : 0.012 + levels / 1500,
        flagged: gain === null ? 0 : 812.67,
        true_positives: gain === null ? 0 : 571.3,
        precision: gain === null ? 0 : 0.703,
        recall: gain === null ? 0 : 0.12 * (1 + gain),
        fits_missed: 6,
        fits_infeasible: gain === null ? 15 : 0,
      });
    }
  }
  const best = sweepCells.filter((cell) => cell.gain !== null).sort((a, b) => b.gain - a.gain)[0];
  study.sweep = {
    objective: `most recall with ${shape.constraint} >= ${bounds[start]}`,
    value: "recall",
    method: "exact",
    levels_from: "top",
    rows: shape.rows,
    positives,
    fits: 15,
    single: sweepCells[6],
    best,
    smallest: sweepCells.find((cell) => cell.gain !== null && cell.gain > best.gain - best.gain_se),
    sentence: `best on rows left out: ${best.levels} levels with ${best.bins} bins`,
    cells: sweepCells,
  };

  const banded = (value, half) => ({ value, band: [Math.max(0, value - half), value + half] });
  study.calibration = {
    holdout: { rows: shape.rows, weight: null, positives },
    uncertainty_edges: edges.slice(0, 2),
    shrinkage: 300,
    log_loss_on_rows_left_out: { ist: 0.4694, mist: 0.4693, shrunken: 0.46927 },
    chosen: "shrunken",
    judged_on: { by: "cross-validation", folds: 5, rows: shape.rows, positives, rows_dropped: 0 },
    levels: 3,
    bins: 10,
    replicates: 200,
    seed: 0,
    columns: [
      ["raw", 0.06, 0.012],
      ["ist", 0.004, 0.0009],
      ["mist", 0.003, 0.0002],
      ["shrunken", 0.0028, 0.00015],
    ].map(([column, base, slope]) => {
      const at = Array.from({ length: 10 }, (_, bin) => base + slope * bin * (bin % 3 ? 1 : 0.6));
      return {
        name: column,
        is_probability: true,
        ece: banded(at[4], base / 6),
        ece_by_level: banded(at[5], base / 6),
        brier: banded(0.154, 0.001),
        log_loss: banded(0.469, 0.002),
        ece_at: at.map((x) => banded(x, base / 2)),
        cumulative_ece: at.map((x) => banded(x * 1.4, base / 2)),
        cumulative_ece_less_ist: [],
        roc_auc: banded(0.772, 0.002),
        average_precision: banded(0.523, 0.004),
        mean_probability: at,
      };
    }),
    by_chance: { ece_at: Array(10).fill(0.0022), cumulative_ece: Array(10).fill(0.0035) },
    reliability: [],
  };

  study.swaps = bounds.map((_, index) => {
    const ours = rules[auto.at[index].rule],
      old = rules[st.at[index].rule];
    if (!ours || !old) return null;
    const blank = () => ({ rows: 0, positives: 0 });
    const sets = {
      first: blank(),
      second: blank(),
      taken_in: blank(),
      left_out: blank(),
      both: blank(),
      neither: blank(),
    };
    const levels = ours.thresholds.map(() => ({ all: blank(), taken_in: blank(), left_out: blank() }));
    for (const row of holdout) {
      const a = flags(old, row),
        b = flags(ours, row);
      const level = levels[placeOf(ours.edges, row.uncertainty)];
      const names = [a && "first", b && "second", a && b ? "both" : b ? "taken_in" : a ? "left_out" : "neither"].filter(
        Boolean,
      );
      for (const set of [
        ...names.map((key) => sets[key]),
        level.all,
        ...names.filter((key) => level[key]).map((key) => level[key]),
      ]) {
        set.rows += row.weight;
        set.positives += row.weight * row.label;
      }
    }
    const finish = (set) => ({
      ...set,
      positivity: set.rows > 0 ? set.positives / set.rows : null,
      positivity_interval: set.rows > 0 ? interval(set.positives, set.rows) : null,
    });
    return {
      first: "st",
      second: "auto",
      table_rows: shape.rows,
      rows_dropped: 0,
      labelled: true,
      confidence: 0.95,
      flagged_by_first: finish(sets.first),
      flagged_by_second: finish(sets.second),
      left_out: finish(sets.left_out),
      taken_in: finish(sets.taken_in),
      both: finish(sets.both),
      neither: finish(sets.neither),
      verdict: "auto finds more positives than st at the same precision",
      levels: levels.map((level, at) => ({
        lower_edge: at === 0 ? null : ours.edges[at - 1],
        first_threshold: old.thresholds[0],
        second_threshold: ours.thresholds[at],
        all: finish(level.all),
        taken_in: finish(level.taken_in),
        left_out: finish(level.left_out),
      })),
      score_range: [0.5, 0.9],
      score_edges: [],
      cells: [],
    };
  });

  study.bias = {
    xi: 0.25,
    prior_strength: 4,
    omega: 0.5,
    model_strength: 2,
    curves: [1, 3, 10].flatMap((tau) =>
      [2, 10, 50, 1000].map((evidence) => {
        const lowest = 1 / (evidence + 2);
        return {
          tau,
          evidence,
          lambda: 4 / evidence,
          gamma: 2 / evidence,
          nu: 2,
          attainable_scores: [lowest, 1 - lowest],
          points: Array.from({ length: 21 }, (_, at) => {
            const score = at / 20;
            if (score < lowest || score > 1 - lowest)
              return { score, train_positivity: null, expected_positivity: null, bias: null };
            const shrunk = (score * (evidence + 2) + 1) / (evidence + 6);
            const expected = shrunk / (shrunk + tau * (1 - shrunk));
            return { score, train_positivity: score, expected_positivity: expected, bias: score - expected };
          }),
        };
      }),
    ),
  };

  study.training = [1, 2].map((seed) => ({
    name: `seed ${seed}`,
    selected: 5 + seed,
    epochs: Array.from({ length: 12 }, (_, at) => ({
      epoch: at + 1,
      train_loss: 0.42 + 0.3 * Math.exp(-(at + seed) / 2.5),
      valid_loss: 0.47 + 0.2 * Math.exp(-(at + seed) / 2) + 0.002 * Math.max(0, at - 5),
      average_precision: 0.53 - 0.2 * Math.exp(-(at + seed) / 1.8) - 0.001 * Math.max(0, at - 6),
      roc_auc: 0.77 - 0.1 * Math.exp(-at / 2),
    })),
  }));

  const bound = bounds[start];
  study.monitor = {
    result: {
      verdict: "broken",
      constraint: shape.constraint,
      bound,
      alpha: 0.05,
      tolerance: 0.05,
      rows: 9000,
      flagged: 1210,
      labelled: 8000,
      labelled_flagged: 1100,
      uneven_labels: false,
      repeated: 0,
      tested: 1100,
      figure: bound - 0.05,
      figure_low: bound - 0.09,
      figure_high: bound - 0.004,
      e_value: 31.2,
      p_value: 0.032,
      more_needed: null,
      broken: {
        noticed: { row: 8000, time: "2024-05-02" },
        since: { row: 5100, time: "2024-03-11" },
        tested: 420,
        figure: bound - 0.14,
        figure_before: bound + 0.01,
      },
      flag_rate: {
        has_reference: true,
        reference_rows: shape.rows,
        reference_shares: [0.12, 0.88],
        rows: 9000,
        shares: [0.134, 0.866],
        e_value: 1.2,
        drift: null,
      },
      levels: {
        has_reference: true,
        reference_rows: 10000,
        reference_shares: [0.4, 0.35, 0.25],
        rows: 9000,
        shares: [0.39, 0.33, 0.28],
        e_value: 2.4,
        drift: null,
      },
    },
    path: Array.from({ length: 45 }, (_, at) => {
      const rows = 200 * (at + 1),
        half = 0.9 / Math.sqrt(at + 2);
      const figure = bound + 0.01 - 0.06 * Math.max(0, (at - 25) / 20);
      return {
        rows,
        figure,
        low: Math.max(0, figure - half * 0.25),
        high: Math.min(1, figure + half * 0.25),
        e_value: Math.exp(Math.max(0, at - 26) * 0.19),
      };
    }),
  };

  if (shape.hostile) infect(study);
  return study;
}

/// Every text that may come from a user's files becomes one that would like to be a program.
function infect(study) {
  let next = 0;
  const attack = () => attacks[next++ % attacks.length];
  study.title = attacks[0] + attacks[1];
  study.data.holdout.name = attack();
  study.data.test.name = attack();
  for (const key of ["score", "uncertainty", "label"]) study.data.columns[key] = attack() + "long_".repeat(60);
  study.command = attack() + "\n" + attack();
  for (const setting of study.settings) [setting.name, setting.value] = [attack(), attack()];
  for (const decision of study.decision) [decision.sentence, decision.guarantee] = [attack() + attack(), attack()];
  for (const method of study.methods) method.label = attack();
  for (const choice of study.choice) if (choice) [choice.why, choice.candidates[1].method] = [attack(), attack()];
  for (const entry of study.certification) [entry.why, entry.method] = [attack(), attack()];
  for (const swap of study.swaps) if (swap) [swap.verdict, swap.first, swap.second] = [attack(), attack(), attack()];
  study.sweep.sentence = attack();
  study.calibration.columns[1].name = attack();
  study.training[0].name = attack();
  study.monitor.result.verdict = attack();
  study.monitor.result.broken.since.time = attack();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const name = process.argv[2] ?? "full";
  if (!shapes.includes(name)) throw new Error(`make_study: ${name} is none of ${shapes.join(", ")}`);
  process.stdout.write(JSON.stringify(makeStudy(name)));
}
