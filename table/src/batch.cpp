// SPDX-License-Identifier: MIT
#include "batch.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

void append_values(Values& into, const Values& more) {
  if (const Texts* texts = std::get_if<Texts>(&more)) {
    Texts& own = std::get<Texts>(into);
    std::vector<std::int32_t> own_code;
    for (const std::string& text : texts->index.texts()) own_code.push_back(own.index.add(text));
    for (const std::int32_t code : texts->code) {
      own.code.push_back(code == TextValues::kMissing ? code : own_code[static_cast<std::size_t>(code)]);
    }
    return;
  }
  if (into.index() != more.index() && std::holds_alternative<Singles>(into)) {
    const Singles& singles = std::get<Singles>(into);
    into = Reals(singles.begin(), singles.end());
  }
  std::visit(
      [&](auto& to) {
        using Vector = std::remove_cvref_t<decltype(to)>;
        if constexpr (!std::is_same_v<Vector, Texts>) {
          if (const Vector* from = std::get_if<Vector>(&more)) to.insert(to.end(), from->begin(), from->end());
        }
        if constexpr (std::is_same_v<Vector, Reals>) {
          if (const Singles* from = std::get_if<Singles>(&more)) to.insert(to.end(), from->begin(), from->end());
        }
      },
      into);
}

// Calls `use` with the vector of values, or of codes.
template <typename Use>
void visit_vector(Values& values, const Use& use) {
  std::visit(
      [&](auto& vector) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(vector)>, Texts>) {
          use(vector.code);
        } else {
          use(vector);
        }
      },
      values);
}

}  // namespace

bool ValueRules::is_missing(std::string_view trimmed_text) const {
  return trimmed_text.empty() || std::ranges::find(missing, trimmed_text) != missing.end();
}

ValueRules value_rules(const ReadOptions& options, MissingRule rule, const LabelRule& labels) {
  ValueRules rules = {.missing = {}, .rule = rule, .labels = labels};
  for (const std::string& word : options.missing) rules.missing.emplace_back(trimmed(word));
  return rules;
}

Values empty_values(const Wanted& column, bool is_single) {
  if (column.kind == Kind::kText) return Texts{};
  if (column.kind == Kind::kLabel) return Labels{};
  return column.keeps_single && is_single ? Values(Singles{}) : Values(Reals{});
}

void append(Batch& into, const Batch& more) {
  for (std::size_t column = 0; column < into.columns.size(); ++column) {
    append_values(into.columns[column], more.columns[column]);
  }
  into.num_rows += more.num_rows;
  into.rows_dropped += more.rows_dropped;
  into.labels.merge(more.labels);
  into.places.insert(into.places.end(), more.places.begin(), more.places.end());
  into.copied.insert(into.copied.end(), more.copied.begin(), more.copied.end());
}

void reserve(Batch& batch, std::size_t rows) {
  for (Values& values : batch.columns) {
    visit_vector(values, [rows](auto& vector) { vector.reserve(rows); });
  }
}

void keep_rows(Batch& batch, std::size_t begin, const std::vector<bool>& keep) {
  for (Values& values : batch.columns) {
    visit_vector(values, [&](auto& vector) {
      std::size_t end = begin;
      for (std::size_t row = 0; row < keep.size(); ++row) {
        if (keep[row]) vector[end++] = vector[begin + row];
      }
      vector.resize(end);
    });
  }
}

Frame take_frame(Batch& batch, std::span<const Wanted> columns) {
  Frame frame;
  frame.num_rows = batch.num_rows;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    Values& values = batch.columns[column];
    frame.columns.push_back({.name = columns[column].name, .values = {}});
    if (Texts* texts = std::get_if<Texts>(&values)) {
      frame.columns.back().values =
          TextValues{.distinct = texts->index.take_texts(), .code = std::exchange(texts->code, {})};
    } else {
      const Reals reals = std::exchange(std::get<Reals>(values), {});
      frame.columns.back().values = NumberValues(reals.begin(), reals.end());
    }
  }
  return frame;
}

}  // namespace limen::table::detail
