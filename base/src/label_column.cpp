// SPDX-License-Identifier: MIT
#include "limen/base/label_column.h"

#include <cmath>
#include <limits>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen {
namespace {

/// Calls at_number(row, number) or at_text(row, code) for rows with a label and at_missing(row) for the others.
template <typename AtNumber, typename AtText, typename AtMissing>
void for_each_label(const Column& column, AtNumber at_number, AtText at_text, AtMissing at_missing) {
  if (const auto* numbers = std::get_if<NumberValues>(&column.values)) {
    for (std::size_t row = 0; row < numbers->size(); ++row) {
      const double number = (*numbers)[row];
      std::isfinite(number) ? at_number(row, number) : at_missing(row);
    }
    return;
  }
  const auto& texts = std::get<TextValues>(column.values);
  std::vector<std::uint8_t> missing;
  for (const std::string& text : texts.distinct) missing.push_back(is_missing(trimmed(text)) ? 1 : 0);
  for (std::size_t row = 0; row < texts.code.size(); ++row) {
    const std::int32_t code = texts.code[row];
    const bool is_there = code != TextValues::kMissing && missing[static_cast<std::size_t>(code)] == 0;
    is_there ? at_text(row, static_cast<std::size_t>(code)) : at_missing(row);
  }
}

Where at_row(Where where, std::uint64_t row, const std::string& column) {
  where.place = "row " + std::to_string(row + 1);
  where.column = column;
  return where;
}

}  // namespace

std::vector<std::uint8_t> missing_labels(const Column& column) {
  std::vector<std::uint8_t> missing;
  const auto there = [&](std::size_t, auto) { missing.push_back(0); };
  for_each_label(column, there, there, [&](std::size_t) { missing.push_back(1); });
  return missing;
}

std::vector<std::uint8_t> read_labels(const Column& column, const LabelRule& rule, const Where& where,
                                      std::uint64_t first_row, LabelsSeen& seen) {
  std::vector<std::uint8_t> labels;
  const auto label_or_refuse = [&](std::size_t row, std::string_view value, std::optional<std::uint8_t> label) {
    seen.add(value, label);
    if (label) return *label;
    throw InvalidInput(at_row(where, first_row + row, column.name),
                       quoted(value) + " is of neither class, must be " + wanted_labels(rule), Cause::kBadLabel);
  };
  // The last two different numbers, mostly those of the two classes; NaN is never equal to another number.
  struct Known {
    double number = std::numeric_limits<double>::quiet_NaN();
    std::uint8_t label = 0;
  };
  Known last;
  Known before;
  std::vector<std::uint8_t> label_of_code;  // kMissingLabel: not yet known
  if (const auto* texts = std::get_if<TextValues>(&column.values)) {
    label_of_code.assign(texts->distinct.size(), kMissingLabel);
  }
  for_each_label(
      column,
      [&](std::size_t row, double number) {
        if (number != last.number) {
          std::swap(last, before);
          if (number != last.number) {
            last = {number, label_or_refuse(row, number_text(number), label_of(rule, number))};
          }
        }
        labels.push_back(last.label);
      },
      [&](std::size_t row, std::size_t code) {
        if (label_of_code[code] == kMissingLabel) {
          const std::string& text = std::get<TextValues>(column.values).distinct[code];
          label_of_code[code] = label_or_refuse(row, label_value(text), label_of(rule, text));
        }
        labels.push_back(label_of_code[code]);
      },
      [&](std::size_t) { labels.push_back(kMissingLabel); });
  return labels;
}

void refuse_missing_label(const Where& where, const std::string& column, std::uint64_t row, const LabelRule& rule) {
  throw InvalidInput(at_row(where, row, column), "the label is missing, must be " + wanted_labels(rule),
                     Cause::kMissingValue);
}

}  // namespace limen
