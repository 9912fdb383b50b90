// SPDX-License-Identifier: MIT
#include "experiment/config_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/train/preset.h"
#include "limen/train/schema.h"
#include "limen/train/split.h"

namespace limen::cli::experiment {
namespace {

constexpr double kMostReal = 1e9;

std::vector<std::string> binning_words() { return {"equi-weight", "equi-span"}; }

std::vector<Method> methods_of(ConfigReader& reader, const char* key, const std::vector<std::string>& fallback) {
  std::vector<Method> methods;
  for (const std::string& name : reader.words(key, fallback, method_words())) methods.push_back(parse_method(name));
  return methods;
}

std::vector<int> levels_of(ConfigReader& reader, const char* key, const std::vector<int>& fallback) {
  const std::vector<std::int64_t> wide(fallback.begin(), fallback.end());
  std::vector<int> levels;
  for (const std::int64_t value : reader.integers(key, wide, 1, 1000)) levels.push_back(static_cast<int>(value));
  return levels;
}

SimulatedData read_simulated(ConfigReader reader) {
  SimulatedData data;
  SimulationOptions& options = data.options;
  const auto prior = [&](const char* key, double& positive, double& negative) {
    ConfigReader pair = reader.object(key);
    positive = pair.number("positive", positive, 1e-9, kMostReal);
    negative = pair.number("negative", negative, 1e-9, kMostReal);
    pair.finish();
  };
  prior("prior", options.prior_positive, options.prior_negative);
  prior("model_prior", options.model_prior_positive, options.model_prior_negative);
  options.regions = reader.integer("regions", options.regions, 1, std::int64_t{1} << 31U);
  options.evidence_scale = reader.number("evidence_scale", options.evidence_scale, 1e-9, kMostReal);
  options.evidence_tail = reader.number("evidence_tail", options.evidence_tail, 1e-9, kMostReal);
  options.evidence_limit = reader.integer("evidence_limit", options.evidence_limit, 0, 1'000'000'000);
  options.holdout_rows = reader.integer("holdout_rows", options.holdout_rows, 1, std::int64_t{1} << 40U);
  options.test_rows = reader.integer("test_rows", options.test_rows, 1, std::int64_t{1} << 40U);
  reader.finish();
  return data;
}

void add_schema(FileData& data, const std::string& name) {
  if (name.empty()) return;
  const train::Schema schema = train::schema_preset(name);
  data.features = schema.features;
  data.read.no_header = !schema.header;
  if (!schema.header) data.read.names = schema.columns;
  data.read.separator = std::string(1, schema.separator);
}

FileData read_files(ConfigReader reader) {
  FileData data;
  add_schema(data, reader.word("schema", "", train::schema_presets()));
  data.table = reader.words("table", {}, {});
  data.train = reader.words("train", {}, {});
  data.holdout = reader.words("holdout", {}, {});
  data.test = reader.words("test", {}, {});
  const bool is_split = !data.table.empty();
  const bool is_parted = !data.train.empty() || !data.holdout.empty() || !data.test.empty();
  if (is_split == is_parted || (is_parted && (data.train.empty() || data.holdout.empty() || data.test.empty()))) {
    throw InvalidInput(reader.source(), fmt::format("\"{}\" needs \"table\", which is split, or all of \"train\", "
                                                    "\"holdout\" and \"test\"",
                                                    reader.path()));
  }
  for (const auto* paths : {&data.table, &data.train, &data.holdout, &data.test}) {
    for (const std::string& path : *paths) {
      if (path == "-") throw InvalidInput(reader.source(), "files are read more than once; name a file, not stdin");
    }
  }
  const std::string split = reader.text("split", "0.6,0.2,0.2");
  try {
    data.split = train::parse_fractions(split);
  } catch (const InvalidInput& error) {
    reader.refuse("split", split, "three shares such as \"0.6,0.2,0.2\": " + error.problem());
  }
  if (data.split[1] <= 0 || data.split[2] <= 0) {
    reader.refuse("split", split, "three shares above 0: a hold-out and a test part are needed");
  }
  data.time_column = reader.text("time_column");
  data.share = reader.number("share", 1, 1e-6, 1);
  data.drop_missing = reader.flag("drop_missing", false);
  train::FeatureOptions& features = data.features;
  features.label = reader.text("label", features.label);
  if (features.label.empty()) throw InvalidInput(reader.source(), "\"" + reader.path_of("label") + "\" is missing");
  const std::string positive = reader.text("positive");
  const std::string comparison = reader.text("positive_if");
  data.negative = reader.text("negative");
  if (static_cast<int>(!positive.empty()) + static_cast<int>(!comparison.empty()) +
          static_cast<int>(!data.negative.empty()) >
      1) {
    throw InvalidInput(reader.source(), "give at most one of \"positive\", \"positive_if\" and \"negative\" in \"" +
                                            reader.path() + "\"");
  }
  if (!positive.empty()) features.label_rule = positive_value(positive);
  if (!comparison.empty()) {
    try {
      features.label_rule = limen::positive_if(comparison);
    } catch (const InvalidInput& error) {
      reader.refuse("positive_if", comparison, "a comparison such as \">30\": " + error.problem());
    }
  }
  const auto add = [&](const char* key, std::vector<std::string>& to) {
    const std::vector<std::string> names = reader.words(key, {}, {});
    to.insert(to.end(), names.begin(), names.end());
  };
  add("numeric", features.numeric);
  add("categorical", features.categorical);
  add("drop", features.drop);
  for (const std::string& name : reader.words("date", {}, {})) features.date[name] = DateFormat::kText;
  features.min_count = reader.integer("min_count", features.min_count, 1, 1'000'000'000);
  const std::string scaling = reader.word("scaling", "", {"auto", "linear", "log"});
  if (!scaling.empty()) {
    features.scaling = scaling == "log"      ? train::Scaling::kLog
                       : scaling == "linear" ? train::Scaling::kLinear
                                             : train::Scaling::kAuto;
  }
  data.read.separator = reader.text("separator", data.read.separator);
  data.read.missing = reader.words("missing", {}, {});
  data.read.format = reader.word("format", "", {"csv", "tsv", "parquet", "arrow"});
  reader.finish();
  return data;
}

TheoryData read_theory(ConfigReader reader) {
  TheoryData data;
  data.evidence = reader.numbers("evidence", data.evidence, 1, kMostReal);
  data.tau = reader.numbers("tau", data.tau, 1e-9, kMostReal);
  data.curve_tau = reader.number("curve_tau", data.curve_tau, 1e-9, kMostReal);
  data.curve_evidence = reader.number("curve_evidence", data.curve_evidence, 1, kMostReal);
  data.regions = reader.integer("regions", data.regions, 2, 1'000'000'000);
  BiasParameters& parameters = data.parameters;
  parameters.xi = reader.number("xi", parameters.xi, 1e-9, 1 - 1e-9);
  parameters.prior_strength = reader.number("prior_strength", parameters.prior_strength, 1e-9, kMostReal);
  parameters.omega = reader.number("omega", parameters.omega, 0, 1);
  parameters.model_strength = reader.number("model_strength", parameters.model_strength, 0, kMostReal);
  reader.finish();
  return data;
}

template <typename Sub, typename Read>
std::optional<Sub> optional_study(ConfigReader& reader, const char* key, const Read& read) {
  if (!reader.has(key)) return std::nullopt;
  ConfigReader inner = reader.object(key);
  Sub sub = read(inner);
  inner.finish();
  return sub;
}

}  // namespace

std::vector<std::string> method_words() {
  std::vector<std::string> words;
  for (const MethodInfo& info : method_table()) words.emplace_back(info.name);
  return words;
}

Data read_data(ConfigReader reader) {
  std::vector<const char*> kinds;
  for (const char* kind : {"simulated", "files", "theory", "drawing"}) {
    if (reader.has(kind)) kinds.push_back(kind);
  }
  if (kinds.size() > 1) {
    throw InvalidInput(reader.source(),
                       fmt::format("\"{}\" has both \"{}\" and \"{}\"; give one", reader.path(), kinds[0], kinds[1]));
  }
  const std::string kind = kinds.empty() ? "" : kinds[0];
  Data data;
  if (kind == "files") {
    data = read_files(reader.object("files"));
  } else if (kind == "theory") {
    data = read_theory(reader.object("theory"));
  } else if (kind == "drawing") {
    data = DrawnData{reader.word("drawing", "", {"dependencies", "pipeline"})};
  } else {
    data = read_simulated(reader.object("simulated"));
  }
  for (const char* known : {"simulated", "files", "theory", "drawing"}) reader.allow(known);
  reader.finish();
  return data;
}

TrainSettings read_train(ConfigReader reader) {
  TrainSettings train;
  train.preset = reader.word("preset", "", train::model_presets());
  train.epochs = reader.integer_if("epochs", 1, 100'000);
  train.batch = reader.integer_if("batch", 1, 1 << 24);
  train.patience = reader.integer_if("patience", 1, 100'000);
  train.latent = reader.integer_if("latent", 1, 4096);
  train.flows = reader.integer_if("flows", 1, 1000);
  train.members = reader.integer_if("members", 1, 1000);
  train.passes = reader.integer_if("passes", 2, 10'000);
  train.embedding = reader.integer_if("embedding", 1, 4096);
  train.blocks = reader.integer_if("blocks", 1, 1000);
  train.heads = reader.integer_if("heads", 1, 1000);
  train.learning_rate = reader.number_if("learning_rate", 1e-9, 10);
  train.dropout = reader.number_if("dropout", 0, 0.99);
  train.regularizer = reader.number_if("regularizer", 0, 1000);
  train.hidden = reader.has("hidden") ? reader.integers("hidden", {}, 1, 1 << 16) : std::vector<std::int64_t>();
  train.validation = reader.number("validation", train.validation, 0.001, 0.9);
  train.law = reader.flag("law", true);
  train.rates = reader.flag("rates", true);
  reader.finish();
  return train;
}

Study read_study(ConfigReader reader) {
  Study study;
  std::vector<double> bounds = reader.numbers("bounds", {0.7}, 0, 1);
  std::sort(bounds.begin(), bounds.end());
  for (const double bound : bounds) study.bounds.push_back(decimal_rational(bound));
  const double bound = reader.number("bound", bounds.back(), 0, 1);
  if (std::find(bounds.begin(), bounds.end(), bound) == bounds.end()) {
    reader.refuse("bound", bound, "one of the \"bounds\"");
  }
  study.bound = decimal_rational(bound);
  study.methods = methods_of(reader, "methods", {"st", "hr", "gmt", "mist", "ew-dpmt", "vw-dpmt"});
  study.levels = static_cast<int>(reader.integer("levels", study.levels, 1, 1000));
  const auto bins = reader.bins("bins", {study.bins});
  if (bins.size() != 1) reader.refuse("bins", bins.size(), "one number, or \"all\" (several are for \"sweep\")");
  study.bins = bins[0];
  study.binning.clear();
  for (const std::string& name : reader.words("binning", {"equi-weight"}, binning_words())) {
    study.binning.push_back(parse_binning(name));
  }
  study.levels_from = parse_levels_from(reader.word("levels_from", "all", {"all", "top"}));
  study.choose = reader.flag("choose", false);
  study.positivity = optional_study<PositivityStudy>(reader, "positivity", [](ConfigReader& inner) {
    PositivityStudy sub;
    sub.levels = static_cast<int>(inner.integer("levels", sub.levels, 1, 20));
    sub.bins = static_cast<int>(inner.integer("bins", sub.bins, 2, 1000));
    sub.map_levels = static_cast<int>(inner.integer("map_levels", sub.map_levels, 1, 40));
    sub.map_bins = static_cast<int>(inner.integer("map_bins", sub.map_bins, 2, 40));
    return sub;
  });
  study.sweep = optional_study<SweepStudy>(reader, "sweep", [](ConfigReader& inner) {
    SweepStudy sub;
    sub.levels = levels_of(inner, "levels", sub.levels);
    sub.bins = inner.bins("bins", sub.bins);
    sub.method = parse_method(inner.word("method", "ew-dpmt", {"hr", "gmt", "mist", "ew-dpmt", "vw-dpmt", "exact"}));
    sub.repetitions = static_cast<int>(inner.integer("repetitions", sub.repetitions, 1, 1000));
    return sub;
  });
  study.calibrate = optional_study<CalibrationStudy>(reader, "calibrate", [](ConfigReader& inner) {
    CalibrationStudy sub;
    sub.levels = static_cast<int>(inner.integer("levels", sub.levels, 1, 1000));
    sub.bins = static_cast<int>(inner.integer("bins", sub.bins, 1, 1000));
    return sub;
  });
  study.certify = optional_study<CertifyStudy>(reader, "certify", [](ConfigReader& inner) {
    CertifyStudy sub;
    sub.confidence = inner.number("confidence", sub.confidence, 0.001, 0.999999);
    sub.method = parse_method(inner.word("method", "auto", {"auto", "st", "smooth", "exact", "joint"}));
    return sub;
  });
  study.swaps = optional_study<SwapStudy>(reader, "swaps", [](ConfigReader& inner) {
    SwapStudy sub;
    sub.first = parse_method(inner.word("first", "st", method_words()));
    sub.second = parse_method(inner.word("second", "ew-dpmt", method_words()));
    sub.columns = inner.words("columns", {}, {});
    sub.values = static_cast<int>(inner.integer("values", sub.values, 2, 50));
    return sub;
  });
  study.run_time = optional_study<RunTimeStudy>(reader, "run_time", [](ConfigReader& inner) {
    RunTimeStudy sub;
    sub.levels = levels_of(inner, "levels", sub.levels);
    sub.bins = inner.integers("bins", sub.bins, 1, 1'000'000);
    sub.methods = methods_of(inner, "methods", {"ew-dpmt", "mist"});
    sub.repetitions = static_cast<int>(inner.integer("repetitions", sub.repetitions, 1, 1000));
    return sub;
  });
  reader.finish();
  return study;
}

}  // namespace limen::cli::experiment
