// SPDX-License-Identifier: MIT
#include "bind.h"
#include "limen/base/random.h"
#include "limen/promise/certify.h"

namespace limen::python {
namespace {

using IdArray = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Boundary or None, and what the walk was.
nb::tuple certify_table(const Table& table, const std::string& goal, const std::vector<Fraction>& numbers,
                        const std::string& method, std::optional<int> levels, const std::string& levels_from,
                        double confidence, std::uint64_t seed, const std::optional<double>& learning_share,
                        const std::optional<IdArray>& group, int num_threads) {
  CertifyOptions options;
  options.method = parse_method(method);
  options.levels = levels;
  options.levels_from = parse_levels_from(levels_from);
  options.confidence = confidence;
  options.seed = seed;
  options.learning_share = learning_share;
  options.num_threads = num_threads;
  const Objective objective = objective_of(goal, numbers);
  const Samples samples = samples_of(table);
  const std::span<const std::uint64_t> groups =
      group ? std::span(group->data(), group->size()) : std::span<const std::uint64_t>();
  Certification found = without_gil([&] { return certify(samples, objective, options, groups); });
  nb::dict report;
  report["method"] = std::string(to_string(found.method));
  report["levels"] = found.walk.num_levels();
  report["learning_rows"] = found.learning.rows;
  report["tested_rows"] = found.tested.rows;
  report["accepted"] = found.accepted;
  report["attainable"] = found.attainable;
  report["rows_needed"] = found.rows_needed;
  nb::list steps;
  for (const CertifiedStep& step : found.steps) {
    steps.append(nb::make_tuple(step.flagged.rows, step.flagged.positives, step.p_value, step.accepted));
  }
  report["steps"] = steps;
  return nb::make_tuple(std::move(found.boundary), report);
}

}  // namespace

void bind_certify(nb::module_& module) {
  module.def("certify", &certify_table, nb::arg("table").noconvert(), nb::arg("goal"), nb::arg("numbers"),
             nb::arg("method"), nb::arg("levels").none(), nb::arg("levels_from"), nb::arg("confidence"),
             nb::arg("seed"), nb::arg("learning_share").none(), nb::arg("group").noconvert().none(),
             nb::arg("num_threads"));
  module.def(
      "text_hashes",
      [](const std::vector<std::string>& texts) {
        std::vector<std::uint64_t> hashes;
        for (const std::string& text : texts) hashes.push_back(text_hash(text));
        return new_array(std::move(hashes));
      },
      nb::arg("texts"));
}

}  // namespace limen::python
