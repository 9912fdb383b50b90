// SPDX-License-Identifier: MIT
#include "experiment/scored.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "experiment/file_source.h"
#include "frame_rows.h"
#include "limen/base/error.h"
#include "limen/base/in_table.h"
#include "limen/base/label_column.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "limen/theory/simulated_features.h"
#include "limen/train/model.h"
#include "limen/train/preset.h"
#include "limen/train/table_parts.h"
#include "limen/train/train_table.h"
#include "text.h"

namespace limen::cli::experiment {
namespace {

constexpr std::size_t kMostSavedBytes = std::size_t{1} << 38U;

// ---- the ideal model

ScoredTable ideal_table(const Simulation& simulation, const SimulatedRows& rows, const ScoreOptions& options) {
  ScoredTable table;
  table.label = rows.label;
  std::map<std::string, NumberValues> kept;
  for (const std::int32_t name : rows.region) {
    const Region& region = simulation.regions[static_cast<std::size_t>(name)];
    table.score.push_back(region.score);
    const auto seen = static_cast<double>(region.train_positives + region.train_negatives);
    for (const std::string& uncertainty : options.uncertainties) {
      if (uncertainty == "auto" || uncertainty == "entropy")
        table.uncertainty[uncertainty].push_back(region.uncertainty);
      if (uncertainty == "evidence") table.uncertainty[uncertainty].push_back(-seen);
    }
    for (const std::string& column : options.columns) {
      kept[column].push_back(column == "evidence" ? seen : region.true_positivity);
    }
  }
  for (const std::string& column : options.columns) table.columns.push_back({column, kept[column]});
  return table;
}

SimulationOptions simulation_of(const ModelPlace& place) {
  SimulationOptions options = std::get<SimulatedData>(place.part->data).options;
  options.tau = place.tau;
  options.seed = static_cast<std::uint64_t>(place.seed);
  return options;
}

ScoredPair score_ideal(const ModelPlace& place, const ScoreOptions& options) {
  const Simulation simulation = simulate(simulation_of(place));
  ScoredPair pair;
  pair.holdout = ideal_table(simulation, simulation.holdout, options);
  pair.test = ideal_table(simulation, simulation.test, options);
  for (const std::string& name : options.uncertainties) {
    if (name == "auto") pair.chosen[name] = "entropy";
    if (!pair.test.uncertainty.contains(name)) {
      pair.lacking[name] = "the ideal model has entropy and evidence, not " + name;
    }
  }
  return pair;
}

// ---- networks

train::TrainTableOptions table_options(const ModelPlace& place, int threads) {
  const TrainSettings& given = place.part->train;
  train::TrainTableOptions options;
  if (!given.preset.empty()) {
    const train::Preset preset = train::model_preset(given.preset);
    options.model = preset.model;
    options.training = preset.training;
  }
  train::EncoderOptions& encoder = options.model.encoder;
  train::HeadOptions& head = options.model.head;
  head.kind = train::parse<train::Head>(place.model);
  encoder.kind = train::parse<train::EncoderKind>(place.encoder);
  // As limen train: only mlp drops units unless it is said.
  const bool drops = encoder.kind == train::EncoderKind::kMlp || head.kind == train::Head::kMcDropout;
  if (!drops && given.preset.empty()) encoder.dropout = 0;
  if (given.dropout) encoder.dropout = *given.dropout;
  if (!given.hidden.empty()) encoder.hidden.assign(given.hidden.begin(), given.hidden.end());
  if (given.embedding) encoder.embedding = given.embedding;
  if (given.blocks) encoder.blocks = given.blocks;
  if (given.heads) encoder.heads = given.heads;
  head.latent = given.latent.value_or(head.latent);
  head.flows = given.flows.value_or(head.flows);
  head.passes = given.passes.value_or(head.passes);
  head.regularizer = given.regularizer.value_or(head.regularizer);
  if (given.members) head.members = given.members;
  train::TrainOptions& training = options.training;
  if (given.epochs) training.epochs = given.epochs;
  if (given.batch) training.batch = given.batch;
  if (given.learning_rate) training.learning_rate = given.learning_rate;
  training.patience = given.patience.value_or(training.patience);
  training.seed = static_cast<std::uint64_t>(place.seed);
  training.num_threads = threads;
  options.rows.tau = place.tau;
  options.rows.validation = train::ValidationShare{given.validation};
  options.rows.seed = training.seed;
  options.learns_evidence = given.law;
  options.has_rates = given.rates;
  if (const auto* files = std::get_if<FileData>(&place.part->data)) {
    options.features = files->features;
    options.rows.drop_missing = files->drop_missing;
    if (!files->table.empty()) {
      options.rows.split = train::TableSplit{.fractions = files->split, .time_column = files->time_column};
    }
  } else {
    options.features.label = "label";
  }
  options.features.seed = training.seed;
  options.features.num_threads = threads;
  return options;
}

/// The named uncertainty that a model has, or unset with the reason why not.
std::optional<train::Uncertainty> kind_of(const train::Model& model, const std::string& name, std::string& why) {
  if (name == "auto") return model.uncertainty();
  const auto kind = train::parse<train::Uncertainty>(name);
  if (kind == train::Uncertainty::kCountedEvidence && model.rated_features().empty()) {
    why = "this model has no counted evidence: it has no rates of values";
  } else if (kind == train::Uncertainty::kLearntEvidence && model.law() == nullptr) {
    why = "this model has no learnt evidence: the law of evidence found nothing";
  } else if (kind == train::Uncertainty::kEvidence && !train::has_evidence(model.card().model.head.kind)) {
    why = "evidence is of postnet and natpn models, not of this one";
  }
  return why.empty() ? std::optional(kind) : std::nullopt;
}

using Kinds = std::map<std::string, train::Uncertainty>;

/// Scores the rows of a table, or one part of them.
ScoredTable scored_table(const train::Model& model, const train::FrameSource& source,
                         const std::optional<train::Part>& part, const Kinds& kinds,
                         const std::vector<std::string>& columns, const train::TrainTableOptions& options) {
  const train::FeatureTransform& features = model.features();
  std::vector<std::string> wanted = {features.label()};
  const auto want = [&](const std::string& name) {
    if (!contains(wanted, name)) wanted.push_back(name);
  };
  for (const train::ColumnUse& column : features.columns()) want(column.name);
  if (part && !model.card().split->time_column.empty()) want(model.card().split->time_column);
  for (const std::string& name : columns) {
    if (!contains(source.columns, name)) {
      throw InvalidInput(source.name, fmt::format("has no column {} (study.swaps.columns){}", limen::quoted(name),
                                                  did_you_mean(name, source.columns)));
    }
    want(name);
  }
  const bool asks_once = kinds.size() == 1;
  ScoredTable table;
  std::uint64_t first_row = 0;
  std::vector<Frame> kept;
  source.read(wanted, [&](const Frame& frame) {
    std::vector<std::uint8_t> keep(frame.num_rows, 1);
    if (part) {
      const std::vector<train::Part> parts = train::parts_of_rows(model.card().split, frame, first_row);
      for (std::size_t row = 0; row < frame.num_rows; ++row) keep[row] = parts[row] == *part ? 1 : 0;
    }
    train::EncodeOptions encode = {
        .labels = train::LabelUse::kRequired, .first_row = first_row, .num_threads = options.training.num_threads};
    if (options.rows.drop_missing) encode.missing_labels = train::MissingLabels::kMark;
    const train::FeatureRows rows = in_table(source.name, [&] { return features.encode(frame, encode); });
    std::vector<std::size_t> taken;
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (rows.label[row] == kMissingLabel) keep[row] = 0;
      if (keep[row] != 0) taken.push_back(row);
    }
    first_row += frame.num_rows;
    train::FeatureRows chosen;
    train::add_rows(features.shape(), rows, keep, chosen);
    const train::Prediction prediction =
        model.predict(chosen, asks_once ? std::optional(kinds.begin()->second) : std::nullopt);
    table.score.insert(table.score.end(), prediction.score.begin(), prediction.score.end());
    table.label.insert(table.label.end(), chosen.label.begin(), chosen.label.end());
    for (const auto& [name, kind] : kinds) {
      const std::vector<double> values = prediction.uncertainty(kind);
      std::vector<double>& to = table.uncertainty[name];
      to.insert(to.end(), values.begin(), values.end());
    }
    if (columns.empty()) return;
    Frame rest{.num_rows = taken.size()};
    for (const limen::Column& column : frame.columns) {
      if (contains(columns, column.name)) rest.columns.push_back(taken_rows(column, taken));
    }
    kept.push_back(std::move(rest));
  });
  // One column for all frames: numbers one after the other, texts by a table of all of them.
  for (const std::string& name : columns) {
    limen::Column all{.name = name};
    NumberValues numbers;
    TextValues texts;
    std::map<std::string, std::int32_t> codes;
    bool is_text = false;
    for (const Frame& frame : kept) {
      for (const limen::Column& column : frame.columns) {
        if (column.name != name) continue;
        if (const auto* values = std::get_if<NumberValues>(&column.values)) {
          numbers.insert(numbers.end(), values->begin(), values->end());
          continue;
        }
        is_text = true;
        const auto& values = std::get<TextValues>(column.values);
        for (const std::int32_t code : values.code) {
          if (code == TextValues::kMissing) {
            texts.code.push_back(code);
            continue;
          }
          const std::string& text = values.distinct[static_cast<std::size_t>(code)];
          const auto [found, is_new] = codes.try_emplace(text, static_cast<std::int32_t>(codes.size()));
          if (is_new) texts.distinct.push_back(text);
          texts.code.push_back(found->second);
        }
      }
    }
    if (is_text) {
      all.values = std::move(texts);
    } else {
      all.values = std::move(numbers);
    }
    table.columns.push_back(std::move(all));
  }
  return table;
}

train::TrainTableResult train_model(const train::FrameSource& source, const train::TrainTableOptions& options,
                                    const ScoreOptions& how) {
  train::TrainTableHooks hooks;
  if (!how.checkpoint.empty()) {
    hooks.training.save = [&](const std::string& checkpoint) { train::write_whole(how.checkpoint, checkpoint); };
  }
  if (how.say) {
    hooks.training.epoch = [&](const train::EpochReport& report) {
      how.say(fmt::format("epoch {}: loss {:.5f}, average precision {:.4f}, {:.0f} thousand rows/s", report.epoch,
                          report.loss, report.average_precision, report.rows_per_second / 1000));
    };
  }
  if (!how.checkpoint.empty() && std::filesystem::exists(how.checkpoint)) {
    try {
      return train::train_table(source, options, hooks, read_regular_file(how.checkpoint, kMostSavedBytes));
    } catch (const InvalidInput&) {
      // Not of these rows and options, whatever it is: from the beginning.
      std::filesystem::remove(how.checkpoint);
    }
  }
  return train::train_table(source, options, hooks);
}

ScoredPair score_trained(const ModelPlace& place, const ScoreOptions& options) {
  const train::TrainTableOptions how = table_options(place, options.threads);
  train::validate(how);
  const auto* files = std::get_if<FileData>(&place.part->data);
  const bool is_split = files != nullptr && !files->table.empty();
  std::array<train::FrameSource, 3> sources;
  std::optional<Simulation> simulation;
  if (files == nullptr) {
    simulation = simulate(simulation_of(place));
    const auto seed = static_cast<std::uint64_t>(place.seed);
    sources[0] = train::frame_source("training rows", simulated_frame(*simulation, SimulatedTable::kTrain, seed));
    sources[1] = train::frame_source("hold-out", simulated_frame(*simulation, SimulatedTable::kHoldout, seed));
    sources[2] = train::frame_source("test rows", simulated_frame(*simulation, SimulatedTable::kTest, seed));
  } else if (is_split) {
    sources[0] = file_source(*files, files->table);
  } else {
    sources[0] = file_source(*files, files->train);
    sources[1] = file_source(*files, files->holdout);
    sources[2] = file_source(*files, files->test);
  }
  const train::TrainTableResult trained = train_model(sources[0], how, options);
  if (!trained.training.diverged.empty() || !trained.model) {
    throw std::runtime_error("training failed: " + trained.training.diverged);
  }
  const train::Model& model = *trained.model;
  ScoredPair pair;
  Kinds kinds;
  for (const std::string& name : options.uncertainties) {
    std::string why;
    const auto kind = kind_of(model, name, why);
    if (!kind) {
      pair.lacking[name] = why;
      continue;
    }
    kinds[name] = *kind;
    if (name == "auto") pair.chosen[name] = std::string(train::to_string(*kind));
  }
  const std::vector<std::string> columns = simulation ? std::vector<std::string>() : options.columns;
  const auto part = [&](train::Part which) { return is_split ? std::optional(which) : std::nullopt; };
  pair.holdout = scored_table(model, sources[is_split ? 0 : 1], part(train::Part::kHoldout), kinds, {}, how);
  pair.test = scored_table(model, sources[is_split ? 0 : 2], part(train::Part::kTest), kinds, columns, how);
  if (simulation) {
    ScoreOptions asked = options;
    asked.uncertainties.clear();
    pair.test.columns = ideal_table(*simulation, simulation->test, asked).columns;
  }
  Json& card = pair.model;
  card = Json::object();
  card["rows"] = trained.rows.read;
  card["training_rows"] = trained.rows.learned;
  card["validation_rows"] = trained.rows.validated;
  card["epochs"] = trained.training.history.size();
  card["validation_average_precision"] = trained.training.average_precision;
  card["validation_roc_auc"] = trained.training.roc_auc;
  if (!options.checkpoint.empty()) std::filesystem::remove(options.checkpoint);
  return pair;
}

}  // namespace

Samples ScoredTable::samples(const std::string& uncertainty_name) const {
  return {.score = std::span<const double>(score),
          .uncertainty = std::span<const double>(uncertainty.at(uncertainty_name)),
          .label = label,
          .weight = {}};
}

ScoredPair score_pair(const ModelPlace& place, const ScoreOptions& options) {
  return place.model == "ideal" ? score_ideal(place, options) : score_trained(place, options);
}

}  // namespace limen::cli::experiment
