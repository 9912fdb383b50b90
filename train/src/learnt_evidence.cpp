// SPDX-License-Identifier: MIT
#include "learnt_evidence.h"

#include <cmath>
#include <vector>

namespace limen::train::detail {

CodeRows evidence_codes(const FeatureShape& shape, const FeatureRows& rows, RowsOf of) {
  const std::size_t features = shape.num_categorical();
  const std::size_t num_knots = shape.knots.size();
  CodeRows result = {.num_columns = features, .codes = std::vector<std::uint32_t>(rows.categorical.size())};
  for (std::size_t at = 0; at < result.codes.size(); ++at) {
    result.codes[at] = static_cast<std::uint32_t>(rows.categorical[at]);
  }
  if (of == RowsOf::kTraining) return result;
  std::vector<bool> has_knots(features, false);
  for (const KnotInput& knots : shape.knots) has_knots[knots.categorical] = true;
  for (std::size_t at = 0; at < result.codes.size(); ++at) {
    if (rows.categorical[at] == 0 && !has_knots[at % features]) result.codes[at] = CodeRows::kUnseen;
  }
  for (std::size_t row = 0; row < rows.num_rows; ++row) {
    for (std::size_t knots = 0; knots < num_knots; ++knots) {
      const float fraction = rows.fraction[row * num_knots + knots];
      if (fraction < 0 || fraction > 1)
        result.codes[row * features + shape.knots[knots].categorical] = CodeRows::kUnseen;
    }
  }
  return result;
}

std::vector<double> learnt_evidence(const EvidenceLaw& law, const CodeRows& rows) {
  std::vector<double> evidence = law.log_evidence(rows);
  for (double& value : evidence) value = std::exp(value);
  return evidence;
}

}  // namespace limen::train::detail
