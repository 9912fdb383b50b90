// SPDX-License-Identifier: MIT
#include "limen/table/real_column.h"

#include <span>
#include <type_traits>

namespace limen::table {

std::size_t RealColumn::size() const {
  return std::visit([](const auto& values) { return values.size(); }, values_);
}

RealSpan RealColumn::span() const {
  return std::visit([](const auto& values) { return RealSpan(std::span(values)); }, values_);
}

void RealColumn::append(RealSpan more) {
  more.visit([this](auto span) {
    using Value = std::remove_cv_t<typename decltype(span)::element_type>;
    if (Vector<Value>* values = std::get_if<Vector<Value>>(&values_)) {
      values->insert(values->end(), span.begin(), span.end());
      return;
    }
    if (is_single()) {
      const auto& values = std::get<Vector<float>>(values_);
      values_ = Vector<double>(values.begin(), values.end());
    }
    auto& values = std::get<Vector<double>>(values_);
    values.insert(values.end(), span.begin(), span.end());
  });
}

}  // namespace limen::table
