// SPDX-License-Identifier: MIT
#include "limen/table/predictions.h"

#include <utility>

#include "batch_source.h"
#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/base/text.h"

namespace limen::table {
namespace {

using detail::Batch;
using detail::BatchSource;
using detail::ColumnNames;
using detail::FileReader;
using detail::Kind;
using detail::Wanted;

// A source of the columns score, uncertainty, label and, where the tables have it, weight.
class PredictionSource {
 public:
  PredictionSource(const TableFiles& files, const PredictionOptions& options, const detail::Limits& limits)
      : files_(files), options_(options), source_(files, options.read, limits) {
    // All batches have one precision: single only when all files do.
    if (files.files().size() > 1) {
      source_.for_each_file([this](FileReader& reader) {
        const ColumnNames& names = reader.names();
        score_is_single_ = score_is_single_ && reader.is_single(names.require(options_.columns.score));
        const auto uncertainty = find_uncertainty(names);
        uncertainty_is_single_ = uncertainty_is_single_ && uncertainty && reader.is_single(*uncertainty);
      });
    }
    source_.start([this](const FileReader& reader) { return choose(reader.names()); });
  }

  [[nodiscard]] BatchSource& source() { return source_; }

  void check_end() const {
    source_.require_rows();
    require_positive_seen(options_.labels, source_.labels(),
                          Where{.source = files_.name(), .column = options_.columns.label});
  }

  Predictions take(Batch& batch) const {
    const auto reals = [](detail::Values& values) {
      if (auto* singles = std::get_if<detail::Singles>(&values)) return RealColumn{std::move(*singles)};
      return RealColumn{std::move(std::get<detail::Reals>(values))};
    };
    // In the order in which choose() asks for them.
    Predictions rows = {.score = reals(batch.columns[0])};
    std::size_t next = 1;
    if (has_uncertainty_.value_or(true)) rows.uncertainty = reals(batch.columns[next++]);
    rows.label = std::move(std::get<detail::Labels>(batch.columns[next++]));
    if (has_weight_.value_or(false)) rows.weight = std::move(std::get<detail::Reals>(batch.columns[next++]));
    if (!options_.columns.evidence.empty()) rows.evidence = std::move(std::get<detail::Reals>(batch.columns[next++]));
    if (!options_.columns.group.empty()) rows.group = take_groups(std::get<detail::Texts>(batch.columns[next++]));
    if (!options_.columns.segment.empty()) {
      auto& texts = std::get<detail::Texts>(batch.columns[next]);
      rows.segment = {texts.index.take_texts(), std::move(texts.code)};
    }
    rows.rows_dropped = batch.rows_dropped;
    return rows;
  }

 private:
  [[nodiscard]] UninitializedVector<std::uint64_t> take_groups(const detail::Texts& texts) const {
    std::vector<std::uint64_t> hashes;
    for (const std::string_view text : texts.index.texts()) hashes.push_back(text_hash(text));
    UninitializedVector<std::uint64_t> groups(texts.code.size());
    for (std::size_t row = 0; row < groups.size(); ++row) {
      if (texts.code[row] < 0) {
        throw InvalidInput(Where{.source = files_.name(), .column = options_.columns.group},
                           "has missing values; every row needs a group");
      }
      groups[row] = hashes[static_cast<std::size_t>(texts.code[row])];
    }
    return groups;
  }

  detail::Selection choose(const ColumnNames& names) {
    const PredictionColumns& columns = options_.columns;
    detail::Selection selection;
    selection.rules = detail::value_rules(
        options_.read, options_.drop_missing ? MissingRule::kDrop : MissingRule::kRefuse, options_.labels);
    selection.wanted = {
        {.name = columns.score, .keeps_single = score_is_single_, .index = names.require(columns.score)}};
    const auto uncertainty = find_uncertainty(names);
    if (uncertainty) {
      selection.wanted.push_back(
          {.name = columns.uncertainty, .keeps_single = uncertainty_is_single_, .index = *uncertainty});
    }
    require_alike(names, columns.uncertainty, uncertainty.has_value(), has_uncertainty_);
    selection.wanted.push_back({.name = columns.label, .kind = Kind::kLabel, .index = names.require(columns.label)});
    const auto weight = columns.weight_required ? names.require(columns.weight) : names.find(columns.weight);
    if (weight) selection.wanted.push_back({.name = columns.weight, .is_weight = true, .index = *weight});
    if (!columns.evidence.empty()) {
      selection.wanted.push_back({.name = columns.evidence, .index = names.require(columns.evidence)});
    }
    if (!columns.group.empty()) {
      selection.wanted.push_back({.name = columns.group, .kind = Kind::kText, .index = names.require(columns.group)});
    }
    if (!columns.segment.empty()) {
      selection.wanted.push_back(
          {.name = columns.segment, .kind = Kind::kText, .index = names.require(columns.segment)});
    }
    require_alike(names, columns.weight, weight.has_value(), has_weight_);
    return selection;
  }

  [[nodiscard]] std::optional<std::size_t> find_uncertainty(const ColumnNames& names) const {
    const PredictionColumns& columns = options_.columns;
    if (columns.uncertainty.empty()) return std::nullopt;
    return columns.uncertainty_required ? names.require(columns.uncertainty) : names.find(columns.uncertainty);
  }

  // All files have a column, or none does.
  void require_alike(const ColumnNames& names, const std::string& column, bool has, std::optional<bool>& first) const {
    if (!first) first = has;
    if (*first == has) return;
    names.refuse((*first ? "has no column " : "has a column ") + quoted(column) + ", unlike " +
                 files_.files().front()->name);
  }

  TableFiles files_;
  const PredictionOptions& options_;
  bool score_is_single_ = true;
  bool uncertainty_is_single_ = true;
  std::optional<bool> has_uncertainty_;
  std::optional<bool> has_weight_;
  BatchSource source_;
};

}  // namespace

Predictions read_predictions(const TableFiles& files, const PredictionOptions& options) {
  PredictionSource predictions(files, options, detail::limits_for(options.read.max_bytes));
  std::optional<Batch> batch = predictions.source().next(BatchSource::kAllRows);
  predictions.check_end();
  return predictions.take(batch.value());
}

void for_each_batch(const TableFiles& files, const PredictionOptions& options,
                    const std::function<void(const Predictions&)>& visit) {
  detail::for_each_batch(files, options, detail::limits_for(options.read.max_bytes), visit);
}

void detail::for_each_batch(const TableFiles& files, const PredictionOptions& options, const Limits& limits,
                            const std::function<void(const Predictions&)>& visit) {
  PredictionSource predictions(files, options, limits);
  predictions.source().for_each(limits.batch_rows, [&](Batch& batch) { visit(predictions.take(batch)); });
  predictions.check_end();
}

std::optional<std::uint64_t> estimate_rows(const TableFiles& files, const ReadOptions& options) {
  if (files.has_stdin()) return std::nullopt;
  std::optional<std::uint64_t> rows = 0;
  BatchSource(files, options, {}).for_each_file([&](FileReader& reader) {
    const std::optional<std::uint64_t> more = reader.estimate_rows();
    rows = rows && more ? std::optional(*rows + *more) : std::nullopt;
  });
  return rows;
}

}  // namespace limen::table
