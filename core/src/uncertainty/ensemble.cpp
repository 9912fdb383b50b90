// SPDX-License-Identifier: MIT
#include "limen/uncertainty/ensemble.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "limen/base/error.h"

namespace limen {
namespace {

double entropy_of(double probability) {
  const auto part = [](double p) { return p > 0 ? -p * std::log(p) : 0.0; };
  return part(probability) + part(1 - probability);
}

void check(std::span<const RealSpan> member) {
  if (member.empty()) throw InvalidInput("ensemble_measures", "there are no members");
  for (std::size_t at = 0; at < member.size(); ++at) {
    const std::string name = "ensemble_measures: member " + std::to_string(at);
    if (member[at].size() != member[0].size()) {
      throw InvalidInput(name + " has " + std::to_string(member[at].size()) + " rows, member 0 has " +
                         std::to_string(member[0].size()));
    }
    for (std::size_t row = 0; row < member[at].size(); ++row) {
      const double value = member[at][row];
      if (value >= 0 && value <= 1) continue;
      throw InvalidInput(name + ", row " + std::to_string(row) + " is " +
                         (std::isnan(value) ? "NaN" : std::to_string(value)) + ", must be between 0 and 1");
    }
  }
}

}  // namespace

EnsembleMeasures ensemble_measures(std::span<const RealSpan> member) {
  check(member);
  const std::size_t rows = member[0].size();
  const auto count = static_cast<double>(member.size());
  EnsembleMeasures result;
  for (auto* column : {&result.mean, &result.variance, &result.entropy, &result.mutual_information}) {
    column->resize(rows);
  }
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, rows, 1 << 12), [&](const auto& range) {
    for (std::size_t row = range.begin(); row < range.end(); ++row) {
      double sum = 0;
      double entropies = 0;
      for (const RealSpan& values : member) {
        sum += values[row];
        entropies += entropy_of(values[row]);
      }
      const double mean = sum / count;
      double squares = 0;
      for (const RealSpan& values : member) squares += (values[row] - mean) * (values[row] - mean);
      result.mean[row] = mean;
      result.variance[row] = squares / count;
      result.entropy[row] = entropy_of(mean);
      result.mutual_information[row] = std::max(0.0, entropy_of(mean) - entropies / count);
    }
  });
  return result;
}

}  // namespace limen
