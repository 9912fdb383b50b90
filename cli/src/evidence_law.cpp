// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "evidence_flags.h"
#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "limen/base/undersampling.h"
#include "limen/table/append.h"
#include "limen/table/frames.h"
#include "limen/uncertainty/frame_law.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

const limen::Column& column_in(const Frame& frame, const std::string& name) {
  return *std::ranges::find(frame.columns, name, &limen::Column::name);
}

/// The first columns of a frame.
Frame first_columns(const Frame& frame, std::size_t number) {
  return {.num_rows = frame.num_rows,
          .columns = {frame.columns.begin(), frame.columns.begin() + static_cast<std::ptrdiff_t>(number)}};
}

class LawRun {
 public:
  explicit LawRun(const EvidenceFlags& flags)
      : flags_(flags),
        label_(flags.label.empty() ? "label" : flags.label),
        rule_(label_rule(flags.labels)),
        train_(flags.train),
        data_(flags.data),
        validation_(flags.by_law.validation.empty() ? data_ : table::TableFiles(flags.by_law.validation)),
        validation_name_(shown(flags.by_law.validation.empty() ? flags.data : flags.by_law.validation)) {}

  int run();

 private:
  void choose_columns();
  [[nodiscard]] table::FrameReadOptions reading(const std::string& name, const std::vector<std::string>& columns,
                                                bool with_label, bool with_score) const;
  [[nodiscard]] std::vector<std::uint8_t> labels_of(const Frame& frame, std::uint64_t first_row,
                                                    const std::string& table, std::vector<std::uint8_t>& keep);
  [[nodiscard]] std::vector<double> scores_of(const Frame& frame, std::uint64_t first_row, const std::string& table,
                                              std::vector<std::uint8_t>& keep) const;
  void leave_out_rising_columns();
  void read_training();
  void read_validation();
  [[nodiscard]] std::vector<table::AddedColumn> added_columns() const;
  void write(const FrameLaw& law);
  void print(const FrameLaw& frame_law) const;

  const EvidenceFlags& flags_;
  std::string label_;
  LabelRule rule_;
  LabelsSeen seen_;
  table::TableFiles train_;
  table::TableFiles data_;
  table::TableFiles validation_;
  std::string validation_name_;
  std::vector<std::string> columns_;  // that may be in a term
  std::vector<std::string> text_columns_;
  std::vector<std::string> rising_;
  std::optional<EvidenceKeys> keys_;
  CodeRows training_rows_;
  CodeRows validation_rows_;
  std::vector<double> score_;
  std::vector<std::uint8_t> validation_label_;
  std::uint64_t training_dropped_ = 0;
  std::uint64_t validation_dropped_ = 0;
  std::uint64_t data_dropped_ = 0;
  table::RowCounts result_;
};

/// See evidence_columns(). A column is text in all tables when it is in one.
void LawRun::choose_columns() {
  const EvidenceLawFlags& law = flags_.by_law;
  const auto columns_in = [&](const table::TableFiles& files) {
    return table::describe_columns(files, {.read = read_options(flags_.read, ""), .text_columns = flags_.categorical});
  };
  const std::vector<table::ColumnInfo> train = columns_in(train_);
  const std::vector<std::vector<table::ColumnInfo>> others = {columns_in(data_), columns_in(validation_)};
  const auto find = [](const std::vector<table::ColumnInfo>& columns, const std::string& name) {
    return std::ranges::find(columns, name, &table::ColumnInfo::name);
  };
  if (law.validation.empty() && find(others[0], label_) == others[0].end()) {
    throw InvalidInput(Where{.source = shown(flags_.data), .column = label_},
                       "there is no such column; without --keys labelled rows with a score are needed: --label COLUMN, "
                       "or --validation FILE");
  }
  for (const std::string& name : law.drop) {
    if (find(train, name) == train.end()) {
      throw InvalidInput(fmt::format("--drop: \"{}\" is not a column of {}", name, shown(flags_.train)));
    }
  }
  const auto names_of = [](const std::vector<table::ColumnInfo>& columns) {
    std::vector<std::string> names;
    for (const table::ColumnInfo& column : columns) names.push_back(column.name);
    return names;
  };
  EvidenceColumnsOptions options = {.label = label_, .score = law.score, .drop = law.drop};
  for (const table::AddedColumn& column : added_columns()) options.made.push_back(column.name);
  columns_ = evidence_columns(names_of(train), std::vector{names_of(others[0]), names_of(others[1])}, options);
  for (const std::string& name : columns_) {
    const auto is_text = [&](const std::vector<table::ColumnInfo>& columns) {
      return find(columns, name)->kind == table::ColumnKind::kText;
    };
    if (is_text(train) || std::ranges::any_of(others, is_text)) text_columns_.push_back(name);
  }
  for (const std::string& name : flags_.categorical) {
    if (!contains(columns_, name)) {
      throw InvalidInput(fmt::format("--categorical: \"{}\" is not one of the columns that are looked at", name));
    }
  }
}

table::FrameReadOptions LawRun::reading(const std::string& name, const std::vector<std::string>& columns,
                                        bool with_label, bool with_score) const {
  table::FrameReadOptions options = {.read = read_options(flags_.read, name), .columns = columns};
  for (const std::string& column : columns) {
    (contains(text_columns_, column) ? options.text_columns : options.number_columns).push_back(column);
  }
  if (with_label) {
    options.columns.push_back(label_);
    options.text_columns.push_back(label_);
  }
  if (with_score) {
    options.columns.push_back(flags_.by_law.score);
    options.number_columns.push_back(flags_.by_law.score);
  }
  return options;
}

/// A missing label is an error, or clears `keep`.
std::vector<std::uint8_t> LawRun::labels_of(const Frame& frame, std::uint64_t first_row, const std::string& table,
                                            std::vector<std::uint8_t>& keep) {
  const Where where = {.source = table};
  std::vector<std::uint8_t> label = read_labels(column_in(frame, label_), rule_, where, first_row, seen_);
  for (std::size_t row = 0; row < frame.num_rows; ++row) {
    if (label[row] != kMissingLabel) continue;
    if (!flags_.read.drop_missing) refuse_missing_label(where, label_, first_row + row, rule_);
    keep[row] = 0;
  }
  return label;
}

/// A score outside [0, 1] is an error; a missing one too, or clears `keep`.
std::vector<double> LawRun::scores_of(const Frame& frame, std::uint64_t first_row, const std::string& table,
                                      std::vector<std::uint8_t>& keep) const {
  std::vector<double> score = std::get<NumberValues>(column_in(frame, flags_.by_law.score).values);
  for (std::size_t row = 0; row < score.size(); ++row) {
    if (score[row] >= 0 && score[row] <= 1) continue;
    const Where where = {table, fmt::format("row {}", first_row + row + 1), flags_.by_law.score};
    if (!std::isnan(score[row])) {
      throw InvalidInput(where, fmt::format("the score is {:g}, must be a probability, from 0 to 1", score[row]));
    }
    if (!flags_.read.drop_missing) throw InvalidInput(where, "the score is missing", Cause::kMissingValue);
    keep[row] = 0;
    score[row] = 0;
  }
  return score;
}

void LawRun::leave_out_rising_columns() {
  table::FrameReadOptions options = reading(shown(flags_.train), columns_, false, false);
  options.columns = options.number_columns;
  options.text_columns.clear();
  if (options.columns.empty()) return;
  RisingColumns rising;
  table::for_each_frame(train_, options, [&](const Frame& frame) { rising.add(frame); });
  for (std::size_t column = 0; column < options.columns.size(); ++column) {
    if (!rising.rises(column)) continue;
    rising_.push_back(options.columns[column]);
    std::erase(columns_, options.columns[column]);
  }
}

/// Two passes: the bins of numbers, then the codes of the rows that the model was trained on.
void LawRun::read_training() {
  const std::string name = shown(flags_.train);
  const Undersampling undersampling(flags_.tau, flags_.seed);
  const bool with_label = flags_.tau != 1;
  const auto for_each_frame = [&](const auto& use) {
    std::uint64_t rows = 0;
    training_dropped_ = 0;
    table::for_each_frame(train_, reading(name, columns_, with_label, false), [&](const Frame& frame) {
      std::vector<std::uint8_t> keep(frame.num_rows, 1);
      std::vector<double> weight(frame.num_rows, 1);
      if (with_label) {
        const std::vector<std::uint8_t> label = labels_of(frame, rows, name, keep);
        for (std::size_t row = 0; row < frame.num_rows; ++row) {
          training_dropped_ += keep[row] == 0 ? 1 : 0;
          if (keep[row] == 0 || (label[row] == 0 && !undersampling.keeps(rows + row))) weight[row] = 0;
        }
      }
      use(first_columns(frame, columns_.size()), weight);
      rows += frame.num_rows;
    });
  };
  for_each_frame([&](const Frame& frame, const std::vector<double>& weight) {
    if (!keys_) keys_.emplace(frame, flags_.options);
    keys_->fit(frame, weight);
  });
  keys_->finish_fit();
  training_rows_.num_columns = columns_.size();
  for_each_frame([&](const Frame& frame, const std::vector<double>& weight) {
    const std::vector<std::uint32_t> codes = keys_->add_codes(frame);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (weight[row] == 0) continue;
      const auto begin = codes.begin() + static_cast<std::ptrdiff_t>(row * columns_.size());
      training_rows_.codes.insert(training_rows_.codes.end(), begin,
                                  begin + static_cast<std::ptrdiff_t>(columns_.size()));
    }
  });
}

void LawRun::read_validation() {
  std::uint64_t rows = 0;
  validation_rows_.num_columns = columns_.size();
  seen_ = {};
  table::for_each_frame(validation_, reading(validation_name_, columns_, true, true), [&](const Frame& frame) {
    std::vector<std::uint8_t> keep(frame.num_rows, 1);
    const std::vector<std::uint8_t> label = labels_of(frame, rows, validation_name_, keep);
    const std::vector<double> score = scores_of(frame, rows, validation_name_, keep);
    const std::vector<std::uint32_t> codes = keys_->codes(first_columns(frame, columns_.size()));
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      validation_dropped_ += keep[row] == 0 ? 1 : 0;
      if (keep[row] == 0) continue;
      const auto begin = codes.begin() + static_cast<std::ptrdiff_t>(row * columns_.size());
      validation_rows_.codes.insert(validation_rows_.codes.end(), begin,
                                    begin + static_cast<std::ptrdiff_t>(columns_.size()));
      score_.push_back(score[row]);
      validation_label_.push_back(label[row]);
    }
    rows += frame.num_rows;
  });
  require_positive_seen(rule_, seen_, Where{.source = validation_name_, .column = label_});
}

std::vector<table::AddedColumn> LawRun::added_columns() const {
  std::vector<table::AddedColumn> columns = {{flags_.prefix + "evidence"}, {flags_.prefix + "uncertainty"}};
  if (!flags_.by_law.law_score.empty()) columns.push_back({flags_.by_law.law_score});
  return columns;
}

void LawRun::write(const FrameLaw& law) {
  const std::string name = shown(flags_.data);
  const bool with_score = !flags_.by_law.law_score.empty();
  const std::vector<std::string> needed = law.column_names();
  const table::AppendColumnsOptions options = {.read = reading(name, needed, false, with_score),
                                               .output_format = parse_format(flags_.output_format),
                                               .replace = flags_.replace};
  std::uint64_t rows = 0;
  const auto fill = [&](const Frame& frame, std::span<table::AddedValues> added, std::span<std::uint8_t> keep) {
    const Frame law_rows = first_columns(frame, needed.size());
    LawEvidence found = law.evidence(law_rows);
    std::get<std::vector<double>>(added[0]) = std::move(found.evidence);
    std::get<std::vector<double>>(added[1]) = std::move(found.uncertainty);
    if (with_score) {
      std::vector<std::uint8_t> has_score(frame.num_rows, 1);
      const std::vector<double> score = scores_of(frame, rows, name, has_score);
      std::get<std::vector<double>>(added[2]) = law.probability(score, law_rows);
      std::ranges::copy(has_score, keep.begin());
      data_dropped_ += static_cast<std::uint64_t>(std::ranges::count(has_score, 0));
    }
    rows += frame.num_rows;
  };
  result_ = table::append_columns(data_, flags_.output, options, added_columns(), fill);
}

void LawRun::print(const FrameLaw& frame_law) const {
  const EvidenceLaw& law = frame_law.law();
  const std::vector<std::string> columns = frame_law.column_names();
  say_left_out(shown(flags_.train), training_dropped_, "without a label");
  say_left_out(validation_name_, validation_dropped_, "without a label or score");
  say_left_out(shown(flags_.data), data_dropped_, "without a score");
  if (flags_.json && flags_.output != "-") {
    Json terms = Json::array();
    for (const EvidenceTerm& term : law.terms) {
      Json names = Json::array();
      for (const std::size_t column : term.columns) names.push_back(columns[column]);
      terms.push_back({{"columns", std::move(names)}, {"weight", term.weight}, {"cells", term.cells.keys.size()}});
    }
    const Json report = {{"status", to_string(law.status)},
                         {"terms", std::move(terms)},
                         {"p_value", law.p_value},
                         {"gain", law.gain},
                         {"gain_z", law.gain_z},
                         {"candidates", law.num_candidates},
                         {"crossing", law.crossing ? Json(*law.crossing) : Json(nullptr)},
                         {"training_rows", training_rows_.num_rows()},
                         {"validation_rows", score_.size()},
                         {"rows", law.is_silent() ? Json(nullptr) : Json(result_.rows)}};
    fmt::print("{}\n", report.dump(1));
  }
  if (law.is_silent()) {
    fmt::print(stderr, "limen: {}: {} Nothing was written.\n", validation_name_, one_line(frame_law.describe()));
    return;
  }
  if (flags_.output == "-" || flags_.json) return;
  fmt::print("{}: {}, {}: {}\n", shown(flags_.train), plural_text(training_rows_.num_rows(), "row"),
             plural_text(columns_.size(), "column"), fmt::join(columns_, ", "));
  if (!rising_.empty()) fmt::print("left out, since they rise from row to row: {}\n", fmt::join(rising_, ", "));
  fmt::print("{}: {}\n", validation_name_, plural_text(score_.size(), "labelled row"));
  fmt::print("{}\n", one_line(frame_law.describe()));
  std::vector<std::vector<std::string>> terms = {{"term", "weight", "cells"}};
  for (const EvidenceTerm& term : law.terms) {
    std::vector<std::string> names;
    for (const std::size_t column : term.columns) names.push_back(one_line(columns[column]));
    terms.push_back({fmt::format("{}", fmt::join(names, " x ")), fmt::format("{:.3f}", term.weight),
                     count_text(static_cast<double>(term.cells.keys.size()))});
  }
  fmt::print("{}", table_text(terms));
  fmt::print("{} written to {}\n", plural_text(result_.rows, "row"), flags_.output);
}

int LawRun::run() {
  std::vector<std::string> inputs = flags_.by_law.validation;
  inputs.push_back(flags_.train);
  (void)open_output(flags_.output, inputs);
  choose_columns();
  table::require_new_columns(data_, {.read = {.read = read_options(flags_.read, "")}, .replace = flags_.replace},
                             added_columns());
  leave_out_rising_columns();
  if (columns_.empty()) {
    throw InvalidInput(fmt::format("{} and {} have no column in common that evidence could be counted by",
                                   shown(flags_.train), shown(flags_.data)));
  }
  if (columns_.size() > EvidenceKeys::kMostKeys) {
    throw InvalidInput(shown(flags_.train),
                       fmt::format("has {} columns to look at, at most {}: leave some out with --drop", columns_.size(),
                                   EvidenceKeys::kMostKeys));
  }
  read_training();
  if (training_rows_.codes.empty()) throw InvalidInput(shown(flags_.train), "no row is left", Cause::kNoRows);
  read_validation();
  const FrameLaw law(*keys_, fit_evidence_law(training_rows_, validation_rows_, score_, validation_label_,
                                              {.seed = flags_.seed, .num_threads = flags_.options.num_threads}));
  if (!law.law().is_silent()) write(law);
  print(law);
  return law.law().is_silent() ? kInfeasible : kDone;
}

}  // namespace

int run_evidence_law(const EvidenceFlags& flags) { return LawRun(flags).run(); }

}  // namespace limen::cli
