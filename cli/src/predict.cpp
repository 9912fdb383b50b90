// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

#include "flags.h"
#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "limen/base/text.h"
#include "limen/table/append.h"
#include "limen/table/frames.h"
#include "limen/train/model.h"
#include "limen/train/table_parts.h"
#include "options.h"
#include "text.h"
#include "train_flags.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct PredictFlags {
  std::string model;
  std::vector<std::string> data;
  std::string output;
  std::string output_format;
  std::string uncertainty = "auto";
  std::string part;
  std::string device = "cpu";
  std::string network;
  std::vector<std::string> keep;
  int threads = 0;
  bool row_number = false;
  bool keep_all = false;
  bool all_columns = false;
  bool json = false;
  ReadFlags read;
};

/// A column of numbers that is added, and what it takes of a prediction.
struct Figure {
  const char* name;
  std::function<std::vector<double>(const train::Prediction&)> of;
};

/// Parts are of the rows of one table: another one, or the same with rows moved, taken out or changed, is refused.
void check_table(const PredictFlags& flags, const train::Model& model, const table::TableFiles& files,
                 table::FrameReadOptions read) {
  const std::optional<train::TableFingerprint>& known = model.card().split->table;
  if (!known) {
    throw InvalidInput(flags.model, "does not say which table it was split on, it is of an older version: train anew");
  }
  read.columns = known->columns;
  for (const train::ColumnUse& column : model.features().columns()) {
    if (!contains(read.columns, column.name)) continue;
    (column.kind == train::ColumnKind::kNumeric ? read.number_columns : read.text_columns).push_back(column.name);
  }
  train::FingerprintTaker taker(known->columns);
  table::for_each_frame(files, read, [&](const Frame& frame) { taker.add(frame); });
  const train::TableFingerprint& found = taker.fingerprint();
  if (found == *known) return;
  const std::string how = found.rows != known->rows
                              ? fmt::format("it has {}, that one had {}", plural_text(found.rows, "row"),
                                            count_text(static_cast<double>(known->rows)))
                              : std::string("its rows are in another order, or have other values");
  throw InvalidInput(shown(flags.data),
                     fmt::format("is not the table that {} was split on: {}; --part goes by the rows "
                                 "of that table",
                                 flags.model, how));
}

int run(const PredictFlags& flags) {
  check_stdin_once(flags.data);
  (void)open_output(flags.output, {});
  const train::Model model = [&] {
    try {
      return train::Model::load(flags.model, flags.device, flags.threads, parse_network(flags.network));
    } catch (const IoError& error) {
      throw InvalidInput(error.what());
    }
  }();
  const train::ModelCard& card = model.card();
  const train::Uncertainty kind =
      flags.uncertainty == "auto" ? model.uncertainty() : train::parse<train::Uncertainty>(flags.uncertainty);
  if (kind == train::Uncertainty::kCountedEvidence && model.rated_features().empty()) {
    throw InvalidInput("--uncertainty: this model has no counted evidence: it has no rates of values");
  }
  if (kind == train::Uncertainty::kLearntEvidence && model.law() == nullptr) {
    throw InvalidInput("--uncertainty: this model has no learnt evidence: the law of evidence found nothing");
  }
  if (kind == train::Uncertainty::kEvidence && !train::has_evidence(card.model.head.kind)) {
    throw InvalidInput("--uncertainty: evidence is of postnet and natpn models, not of this one");
  }
  std::optional<train::Part> part;
  if (!flags.part.empty()) {
    if (!card.split) throw InvalidInput(flags.model + ": was trained on all rows (--split): it has no parts");
    part = flags.part == "train"     ? train::Part::kTrain
           : flags.part == "holdout" ? train::Part::kHoldout
                                     : train::Part::kTest;
  }

  table::AppendColumnsOptions options;
  options.output_format = parse_format(flags.output_format);
  table::FrameReadOptions& read = options.read;
  // The layout of the table that was trained on, unless flags say another.
  read.read = read_options(flags.read, shown(flags.data));
  if (flags.read.separator.empty() && !card.table.separator.empty()) read.read.separator = card.table.separator[0];
  read.read.has_header = card.table.has_header && !flags.read.no_header;
  if (flags.read.names.empty()) read.read.names = card.table.names;
  if (flags.read.missing.empty()) read.read.missing = card.table.missing;
  // Stdin cannot be looked at before it is read; there the label must be in the table, as in training.
  const table::TableFiles files(flags.data);
  const bool is_stdin = files.has_stdin();
  std::vector<std::string> present;
  if (!is_stdin) {
    for (const table::ColumnInfo& column : table::describe_columns(files, read)) present.push_back(column.name);
  }
  const auto is_present = [&](const std::string& name) { return is_stdin || contains(present, name); };
  if (part) {
    if (is_stdin) throw InvalidInput("--part: the table is read twice; give a file, not stdin");
    check_table(flags, model, files, read);
  }
  for (const train::ColumnUse& column : model.features().columns()) {
    if (!is_present(column.name)) {
      throw InvalidInput(shown(flags.data),
                         fmt::format("has no column {}, which the model needs{}", limen::quoted(column.name),
                                     did_you_mean(column.name, present)),
                         Cause::kNoSuchColumn);
    }
    read.columns.push_back(column.name);
    (column.kind == train::ColumnKind::kNumeric ? read.number_columns : read.text_columns).push_back(column.name);
  }
  const std::string label = model.features().label();
  const bool has_label = !is_stdin && is_present(label);
  const auto want_text = [&](const std::string& name) {
    if (contains(read.columns, name)) return;
    read.columns.push_back(name);
    read.text_columns.push_back(name);
  };
  if (has_label) want_text(label);
  if (part && !card.split->time_column.empty()) {
    if (!is_present(card.split->time_column)) {
      throw InvalidInput(
          shown(flags.data),
          fmt::format("has no column {}, by which the parts were made", limen::quoted(card.split->time_column)),
          Cause::kNoSuchColumn);
    }
    want_text(card.split->time_column);
  }

  std::vector<Figure> figures = {
      {"score", &train::Prediction::score},
      {"uncertainty", [kind](const train::Prediction& prediction) { return prediction.uncertainty(kind); }}};
  if (flags.all_columns) {
    figures.push_back({"entropy", &train::Prediction::entropy});
    if (model.law() != nullptr) {
      figures.push_back({"law_score", &train::Prediction::law_score});
      figures.push_back({"learnt_evidence", &train::Prediction::learnt_evidence});
    }
    if (!model.rated_features().empty()) {
      figures.push_back({"counted_evidence", &train::Prediction::counted_evidence});
    }
    if (train::has_evidence(card.model.head.kind)) figures.push_back({"evidence", &train::Prediction::evidence});
    figures.push_back({"variance", &train::Prediction::variance});
    figures.push_back({"mutual_information", &train::Prediction::mutual_information});
  }
  std::vector<table::AddedColumn> columns;
  if (flags.row_number) columns.push_back({"row_number", table::AddedType::kInt64});
  if (has_label) columns.push_back({"label", table::AddedType::kUint8});
  for (const Figure& figure : figures) columns.push_back({figure.name, table::AddedType::kDouble});
  if (!flags.keep_all) options.keep = flags.keep;
  for (const std::string& name : flags.keep) {
    if (std::ranges::find(columns, name, &table::AddedColumn::name) == columns.end()) continue;
    throw InvalidInput(fmt::format("--keep: {} is a column that predict adds", limen::quoted(name)));
  }

  const std::optional<train::Uncertainty> wanted = flags.all_columns ? std::nullopt : std::optional(kind);
  std::uint64_t first_row = 0;
  double positives = 0;
  std::uint64_t dropped = 0;
  const auto fill = [&](const Frame& frame, std::span<table::AddedValues> values, std::span<std::uint8_t> keep) {
    if (part) {
      const std::vector<train::Part> parts = train::parts_of_rows(card.split, frame, first_row);
      for (std::size_t row = 0; row < frame.num_rows; ++row) keep[row] = parts[row] == *part ? 1 : 0;
    }
    train::EncodeOptions encode = {.labels = has_label ? train::LabelUse::kRequired : train::LabelUse::kIgnore,
                                   .first_row = first_row,
                                   .num_threads = flags.threads};
    if (flags.read.drop_missing) encode.missing_labels = train::MissingLabels::kMark;
    const train::FeatureRows rows = in_table(shown(flags.data), [&] { return model.features().encode(frame, encode); });
    for (std::size_t row = 0; row < rows.label.size(); ++row) {
      if (rows.label[row] != kMissingLabel || keep[row] == 0) continue;
      keep[row] = 0;
      ++dropped;
    }
    // Only the rows that are written are predicted; the others keep zeros.
    const bool chooses = std::ranges::find(keep, std::uint8_t{0}) != keep.end();
    train::FeatureRows chosen;
    if (chooses) train::add_rows(model.features().shape(), rows, keep, chosen);
    const train::Prediction prediction = model.predict(chooses ? chosen : rows, wanted);
    std::size_t next = 0;
    if (flags.row_number) {
      auto& numbers = std::get<std::vector<std::int64_t>>(values[next++]);
      std::iota(numbers.begin(), numbers.end(), static_cast<std::int64_t>(first_row + 1));
    }
    if (has_label) {
      std::get<std::vector<std::uint8_t>>(values[next++]) = rows.label;
      for (std::size_t row = 0; row < frame.num_rows; ++row) positives += keep[row] != 0 ? rows.label[row] : 0;
    }
    for (const Figure& figure : figures) {
      const std::vector<double> column = figure.of(prediction);
      auto& to = std::get<std::vector<double>>(values[next++]);
      auto from = column.begin();
      for (std::size_t row = 0; row < frame.num_rows; ++row) {
        if (!chooses || keep[row] != 0) to[row] = *from++;
      }
    }
    first_row += frame.num_rows;
  };
  const table::RowCounts result = table::append_columns(files, flags.output, options, columns, fill);
  say_left_out(shown(flags.data), dropped, "without a label");
  if (flags.output == "-") return kDone;
  if (flags.json) {
    Json report = {{"rows", result.rows}, {"uncertainty", train::to_string(kind)}};
    if (has_label) report["positives"] = positives;
    fmt::print("{}\n", report.dump(1));
    return kDone;
  }
  fmt::print("{}{}, score and uncertainty ({}), written to {}\n", plural_text(result.rows, "row"),
             has_label ? fmt::format(" ({} positive)", count_text(positives)) : "", train::to_string(kind),
             flags.output);
  return kDone;
}

}  // namespace

void add_predict(CLI::App& program, Action& action) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* verb = program.add_subcommand("predict", "Add score and uncertainty of a trained model to tables");
  verb->add_option("MODEL", flags->model, "Folder of a trained model")->required();
  verb->add_option("DATA", flags->data, "Tables with the model's columns; - for stdin")->required();
  verb->add_option("-o,--output", flags->output, "Where to write the predictions, - for stdout")->required();
  FlagGroup own(*verb);
  own.choice("--part", flags->part, "PART", {"train", "holdout", "test"},
             "Only this part of the split that the model was trained with");
  std::vector<std::string> kinds = train::names_of<train::Uncertainty>();
  kinds.insert(kinds.begin(), "auto");
  own.choice("--uncertainty", flags->uncertainty, "KIND", kinds,
             "auto (what told most on the validation rows), entropy, evidence, variance, mutual-information, "
             "learnt-evidence or counted-evidence");
  own.toggle("--all-columns", flags->all_columns, "Write all of these as columns of their own, too");
  own.list("--keep", flags->keep, "Columns of DATA to copy");
  own.toggle("--row-number", flags->row_number,
             "Write the number of the row in DATA, from 1, as row_number: to join decisions back");
  add_threads_flag(*verb, flags->threads);
  own.toggle("--keep-all", flags->keep_all, "Copy all columns of DATA");
  add_output_format_flag(*verb, flags->output_format);
  add_read_flags(*verb, flags->read);
  add_device_flags(own, flags->device, flags->network);
  verb->add_flag("--json", flags->json, "Print the counts as JSON");
  verb->footer(
      "Example: limen predict model data.csv --part holdout -o holdout.csv\n"
      "Where DATA has the label, it is written as 0/1 in the column label: limen fit takes the result as it is.");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace limen::cli
