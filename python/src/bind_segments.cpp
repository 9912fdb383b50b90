// SPDX-License-Identifier: MIT
#include "bind.h"
#include "limen/fit/segments.h"
#include "limen/judge/metrics.h"
#include "limen/solve/segments.h"

namespace limen::python {
namespace {

using IdArray = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using DecisionArray = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using LevelArray = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// y, score, uncertainty or None, sample_weight or None.
using SegmentTable = std::tuple<LabelArray, RealArray, std::optional<RealArray>, std::optional<DoubleArray>>;

Samples samples_of(const SegmentTable& table) {
  const auto& [label, score, uncertainty, weight] = table;
  // Lengths are checked there; an uncertainty that is none stays empty.
  Samples samples = python::samples_of(Table{label, score, uncertainty.value_or(score), weight});
  if (!uncertainty) samples.uncertainty = {};
  return samples;
}

TextValues text_values(const Texts& texts) {
  const auto& [distinct, code] = texts;
  return {distinct, {code.data(), code.data() + code.size()}};
}

/// Boundary or None, and the best attainable precision or the nearest bound where there is none.
using Fitted = std::tuple<std::optional<Boundary>, std::optional<double>, std::optional<std::int64_t>>;

Fitted fit(const SegmentTable& table, const Texts& segment, const std::string& goal,
           const std::vector<Fraction>& numbers, const std::string& column, bool each, std::int64_t min_rows,
           const std::string& method, std::optional<int> levels, const Bins& bins, const std::string& binning,
           const std::string& levels_from, const std::optional<std::string>& monotone, int num_threads) {
  FitOptions options = fit_options(method, levels, bins, binning, num_threads);
  options.levels_from = parse_levels_from(levels_from);
  if (monotone) options.monotone = parse_direction(*monotone);
  const Objective objective = objective_of(goal, numbers);
  const Samples samples = samples_of(table);
  const TextValues segments = text_values(segment);
  SegmentFit found = without_gil([&] {
    return fit_segments(samples, segments, objective, {.column = column, .min_rows = min_rows, .each = each}, options);
  });
  return {std::move(found.boundary), found.best_attainable, std::nullopt};
}

Fitted certify(const SegmentTable& table, const Texts& segment, const std::string& goal,
               const std::vector<Fraction>& numbers, const std::string& column, bool each, std::int64_t min_rows,
               const std::string& method, std::optional<int> levels, const std::string& levels_from, double confidence,
               std::uint64_t seed, const std::optional<IdArray>& group, int num_threads) {
  CertifyOptions options;
  options.method = parse_method(method);
  options.levels = levels;
  options.levels_from = parse_levels_from(levels_from);
  options.confidence = confidence;
  options.seed = seed;
  options.num_threads = num_threads;
  const Objective objective = objective_of(goal, numbers);
  const Samples samples = samples_of(table);
  const TextValues segments = text_values(segment);
  const std::span<const std::uint64_t> groups =
      group ? std::span(group->data(), group->size()) : std::span<const std::uint64_t>();
  SegmentFit found = without_gil([&] {
    return certify_segments(samples, segments, objective, {.column = column, .min_rows = min_rows, .each = each},
                            options, groups);
  });
  if (found.certification)
    return {std::move(found.boundary), found.certification->attainable, found.certification->rows_needed};
  return {std::move(found.boundary), found.best_attainable, std::nullopt};
}

std::size_t decide_rows(const Boundary& boundary, const RealArray& score, const std::optional<RealArray>& uncertainty,
                        const Texts& segment, const DecisionArray& decision, const std::optional<LevelArray>& level) {
  const RealSpan scores = real_span(score);
  const RealSpan uncertainties = uncertainty ? real_span(*uncertainty) : RealSpan();
  const TextValues segments = text_values(segment);
  const std::span decisions(decision.data(), decision.size());
  const std::span<std::int32_t> levels = level ? std::span(level->data(), level->size()) : std::span<std::int32_t>();
  return without_gil([&] { return decide(*boundary.segments, scores, uncertainties, segments, decisions, levels); });
}

/// As Boundary.evaluate, with the segments (value or None for the pool) and the rows of values never seen.
nb::dict evaluate_rows(const Boundary& boundary, const SegmentTable& table, const Texts& segment, double confidence) {
  const Samples samples = samples_of(table);
  const TextValues segments = text_values(segment);
  const SegmentEvaluation found = without_gil([&] { return evaluate(*boundary.segments, samples, segments); });
  nb::dict result = dict_of(found.cells.total, confidence);
  nb::list parts;
  std::size_t cell = 0;
  for (std::size_t at = 0; at < found.segments.size(); ++at) {
    const bool own = at < boundary.segments->own.size();
    const Segment& part = own ? boundary.segments->own[at] : *boundary.segments->pooled;
    nb::dict figures = dict_of(found.segments[at], confidence);
    nb::list levels;
    for (std::size_t level = 0; level < part.rule.score_thresholds.size(); ++level, ++cell) {
      levels.append(dict_of(found.cells.levels[cell], confidence));
    }
    if (part.rule.score_thresholds.size() > 1) figures["levels"] = levels;
    parts.append(nb::make_tuple(own ? nb::cast(part.value) : nb::none(), figures));
  }
  result["segments"] = parts;
  result["unseen_segment_rows"] = found.unseen;
  return result;
}

}  // namespace

void bind_segments(nb::module_& module) {
  module.attr("segment_min_rows") = SegmentOptions{}.min_rows;
  module.def("fit_segments", &fit, nb::arg("table").noconvert(), nb::arg("segment").noconvert(), nb::arg("goal"),
             nb::arg("numbers"), nb::arg("column"), nb::arg("each"), nb::arg("min_rows"), nb::arg("method"),
             nb::arg("levels").none(), nb::arg("bins").none(), nb::arg("binning"), nb::arg("levels_from"),
             nb::arg("monotone").none(), nb::arg("num_threads"));
  module.def("certify_segments", &certify, nb::arg("table").noconvert(), nb::arg("segment").noconvert(),
             nb::arg("goal"), nb::arg("numbers"), nb::arg("column"), nb::arg("each"), nb::arg("min_rows"),
             nb::arg("method"), nb::arg("levels").none(), nb::arg("levels_from"), nb::arg("confidence"),
             nb::arg("seed"), nb::arg("group").noconvert().none(), nb::arg("num_threads"));
  module.def("decide_segments", &decide_rows, nb::arg("boundary"), nb::arg("score").noconvert(),
             nb::arg("uncertainty").noconvert().none(), nb::arg("segment").noconvert(), nb::arg("decision").noconvert(),
             nb::arg("level").noconvert().none(),
             "Decides rows of a boundary with segments; the number of rows with values never seen.");
  module.def("evaluate_segments", &evaluate_rows, nb::arg("boundary"), nb::arg("table").noconvert(),
             nb::arg("segment").noconvert(), nb::arg("confidence"));
}

}  // namespace limen::python
