// SPDX-License-Identifier: MIT
#include "plain_tables.h"

#include <tuple>

#include "embedding_tables.h"

namespace limen::train {

PlainLookup look_up(const PlainTable& table, const PlainInputs& inputs, std::int64_t feature, bool learning) {
  const std::int64_t rows = inputs.token.size(0);
  const at::Tensor token = inputs.token.select(1, feature);
  at::Tensor fraction = at::zeros({rows}, inputs.numeric.options());
  if (table.fraction) fraction = inputs.fraction.select(1, *table.fraction);
  const at::Tensor next = token + (fraction != 0).to(at::kLong);  // a token without a share in the row is not touched
  PlainLookup lookup;
  at::Tensor place;
  std::tie(lookup.touched, place, std::ignore) = at::_unique2(at::cat({token, next}), true, true);
  lookup.vector = table.weight.value.index_select(0, lookup.touched).requires_grad_(learning);
  const at::Tensor low = lookup.vector.index_select(0, place.narrow(0, 0, rows));
  const at::Tensor high = lookup.vector.index_select(0, place.narrow(0, rows, rows));
  lookup.rows = (1 - fraction).unsqueeze(1) * low + fraction.unsqueeze(1) * high;
  return lookup;
}

void step_table(PlainTable& table, const at::Tensor& touched, const at::Tensor& gradient, double learning_rate,
                double l2) {
  constexpr auto kMost = static_cast<double>(EmbeddingTables::kMostSteps);
  const auto rows_of = [&](const at::Tensor& all) { return all.index_select(0, touched); };
  const at::Tensor steps = rows_of(table.steps).clamp_max(kMost - 1) + 1;
  PlainWeight moved = {
      {}, false, rows_of(table.weight.value), rows_of(table.weight.first), rows_of(table.weight.second)};
  plain_adam(moved, gradient + l2 * moved.value, steps.unsqueeze(1).to(at::kDouble), learning_rate, 0);
  table.weight.value.index_copy_(0, touched, moved.value);
  table.weight.first.index_copy_(0, touched, moved.first);
  table.weight.second.index_copy_(0, touched, moved.second);
  table.steps.index_copy_(0, touched, steps);
}

}  // namespace limen::train
