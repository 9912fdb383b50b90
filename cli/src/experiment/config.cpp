// SPDX-License-Identifier: MIT
#include "experiment/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "experiment/config_reader.h"
#include "limen/base/error.h"
#include "limen/base/json.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "limen/train/preset.h"
#include "limen/train/schema.h"
#include "limen/train/split.h"

namespace limen::cli::experiment {
namespace {

using StoredJson = nlohmann::json;

constexpr std::size_t kMostConfigBytes = std::size_t{1} << 24U;
constexpr double kMostReal = 1e9;

std::vector<std::string> binning_words() { return {"equi-weight", "equi-span"}; }

std::vector<std::string> method_words() {
  std::vector<std::string> words;
  for (const MethodInfo& info : method_table()) words.emplace_back(info.name);
  return words;
}

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

/// Puts parameters into all texts; says which were asked for.
void substitute(StoredJson& value, const Parameters& parameters, const std::string& source,
                std::set<std::string>& used) {
  if (value.is_structured()) {
    for (StoredJson& inner : value) substitute(inner, parameters, source, used);
    return;
  }
  if (!value.is_string()) return;
  const std::string text = value.get<std::string>();
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find("${", at);
    const std::size_t close = open == std::string::npos ? open : text.find('}', open);
    if (close == std::string::npos) {
      result += text.substr(at);
      break;
    }
    const std::string name = text.substr(open + 2, close - open - 2);
    const auto found = parameters.find(name);
    if (found == parameters.end()) {
      throw InvalidInput(source, fmt::format("{} asks for the parameter {}; give it with --set {}=VALUE",
                                             limen::quoted(text), escaped(name, 40), escaped(name, 40)));
    }
    used.insert(name);
    result += text.substr(at, open - at) + found->second;
    at = close + 1;
  }
  value = result;
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

void read_grid(Part& part, ConfigReader reader) {
  const bool is_simulated = std::holds_alternative<SimulatedData>(part.data);
  part.seeds = reader.integers("seeds", {1}, 0, INT64_MAX);
  part.tau = reader.numbers("tau", {is_simulated ? 3.0 : 1.0}, is_simulated ? 1e-9 : 1, kMostReal);
  std::vector<std::string> models = train::names_of<train::Head>();
  if (is_simulated) models.insert(models.begin(), "ideal");
  part.models = reader.words("model", {is_simulated ? "ideal" : "natpn"}, models);
  const std::string encoder =
      part.train.preset.empty()
          ? "mlp"
          : std::string(train::to_string(train::model_preset(part.train.preset).model.encoder.kind));
  part.encoders = reader.words("encoder", {encoder}, train::names_of<train::EncoderKind>());
  std::vector<std::string> uncertainties = train::names_of<train::Uncertainty>();
  uncertainties.insert(uncertainties.begin(), "auto");
  part.uncertainties = reader.words("uncertainty", {"auto"}, uncertainties);
  reader.finish();
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

template <typename Sub, typename Read>
std::optional<Sub> optional_study(ConfigReader& reader, const char* key, const Read& read) {
  if (!reader.has(key)) return std::nullopt;
  ConfigReader inner = reader.object(key);
  Sub sub = read(inner);
  inner.finish();
  return sub;
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

/// What of a part's config determines its cells: not where the files lie, nor what captions say.
StoredJson determined_by(const StoredJson& config) {
  StoredJson data = config.value("data", StoredJson::object());
  if (data.is_object() && data.contains("files")) {
    for (const char* key : {"table", "train", "holdout", "test"}) data["files"].erase(key);
  }
  StoredJson result = StoredJson::object();
  result["data"] = data;
  result["train"] = config.value("train", StoredJson::object());
  result["study"] = config.value("study", StoredJson::object());
  return result;
}

void check_part(const Part& part, const std::string& source) {
  if (!std::holds_alternative<SimulatedData>(part.data) || !part.study.swaps) return;
  for (const std::string& column : part.study.swaps->columns) {
    if (column != "evidence" && column != "true_positivity") {
      throw InvalidInput(source, fmt::format("\"study.swaps.columns\" has {}: simulated rows have the columns "
                                             "evidence and true_positivity",
                                             limen::quoted(column)));
    }
  }
}

Part read_part(const StoredJson& config, const std::string& source, const std::string& fallback_name) {
  ConfigReader reader(config, source, "");
  Part part;
  part.name = reader.text("name", fallback_name);
  if (part.name.empty() ||
      part.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") !=
          std::string::npos ||
      part.name.size() > 60 || part.name[0] == '.') {
    reader.refuse("name", part.name, "letters, digits, - and _, 60 at most: files are named by it");
  }
  part.caption = reader.text("caption");
  part.data = read_data(reader.object("data"));
  part.train = read_train(reader.object("train"));
  part.study = read_study(reader.object("study"));
  read_grid(part, reader.object("grid"));
  reader.finish();
  part.determined_by = determined_by(config);
  check_part(part, source);
  return part;
}

/// Takes a member out.
StoredJson taken(StoredJson& from, const char* key, StoredJson fallback) {
  const auto found = from.find(key);
  if (found == from.end()) return fallback;
  StoredJson value = *found;
  from.erase(found);
  return value;
}

StoredJson read_config(const std::string& path, const Parameters& parameters, std::set<std::string>& used) {
  const std::string text = read_regular_file(path, kMostConfigBytes);
  StoredJson config = [&] {
    try {
      return parse_json(text, path);
    } catch (const InvalidInput& error) {
      throw InvalidInput(path, error.problem());
    }
  }();
  if (!config.is_object()) throw InvalidInput(path, "must hold one JSON object");
  substitute(config, parameters, path, used);
  return config;
}

/// A file without includes. config: of which parts, small and include were not taken out yet.
Section read_section(StoredJson config, const std::string& path, bool is_small) {
  Section section;
  section.name = std::filesystem::path(path).stem().string();
  section.title = section.name;
  const StoredJson title = taken(config, "title", section.name);
  if (!title.is_string()) throw InvalidInput(path, "\"title\" must be a text");
  section.title = title.get<std::string>();
  const bool has_small = config.contains("small");
  const StoredJson small = taken(config, "small", StoredJson::object());
  if (!small.is_object()) throw InvalidInput(path, "\"small\" must be an object");
  const bool has_parts = config.contains("parts");
  const StoredJson parts = taken(config, "parts", StoredJson::array({StoredJson::object()}));
  if (!parts.is_array() || parts.empty()) throw InvalidInput(path, "\"parts\" must be a list that is not empty");
  if (has_parts) {
    const StoredJson caption = taken(config, "caption", "");
    if (!caption.is_string()) throw InvalidInput(path, "\"caption\" must be a text");
    section.caption = caption.get<std::string>();
  }
  bool is_any_small = has_small;
  for (const StoredJson& given : parts) {
    if (!given.is_object()) throw InvalidInput(path, "\"parts\" must be a list of objects");
    StoredJson own = given;
    is_any_small = is_any_small || own.contains("small");
    const StoredJson own_small = taken(own, "small", StoredJson::object());
    StoredJson merged = config;
    // A part's own kind of data takes the place of that above it.
    if (own.contains("data") && merged.contains("data")) {
      for (const char* kind : {"simulated", "files", "theory", "drawing"}) {
        if (own["data"].is_object() && !own["data"].contains(kind)) continue;
        for (const char* other : {"simulated", "files", "theory", "drawing"}) {
          if (std::string(other) != kind && merged["data"].is_object()) merged["data"].erase(other);
        }
      }
    }
    merged.merge_patch(own);
    if (is_small) {
      merged.merge_patch(small);
      merged.merge_patch(own_small);
    }
    const std::string fallback =
        has_parts ? fmt::format("part{}", section.parts.size() + 1) : std::string(section.name);
    section.parts.push_back(read_part(merged, path, fallback));
    for (std::size_t before = 0; before + 1 < section.parts.size(); ++before) {
      if (section.parts[before].name == section.parts.back().name) {
        throw InvalidInput(path, fmt::format("two parts have the name {}", limen::quoted(section.parts.back().name)));
      }
    }
  }
  if (is_small && !is_any_small) {
    throw InvalidInput(path, "has no member \"small\" that says what --small changes; add one, or leave --small out");
  }
  return section;
}

}  // namespace

Experiment read_experiment(const std::string& path, const Parameters& parameters, bool is_small) {
  std::set<std::string> used;
  StoredJson config = read_config(path, parameters, used);
  Experiment experiment;
  experiment.is_small = is_small;
  if (config.contains("include")) {
    ConfigReader reader(config, path, "");
    experiment.title = reader.text("title", std::filesystem::path(path).stem().string());
    const std::vector<std::string> names = reader.words("include", {}, {});
    reader.finish();
    for (const std::string& name : names) {
      const std::string file = (std::filesystem::path(path).parent_path() / name).string();
      StoredJson included = read_config(file, parameters, used);
      if (included.contains("include")) throw InvalidInput(file, "is included and includes others; list them above");
      experiment.sections.push_back(read_section(std::move(included), file, is_small));
    }
    for (std::size_t at = 0; at < experiment.sections.size(); ++at) {
      for (std::size_t before = 0; before < at; ++before) {
        if (experiment.sections[before].name == experiment.sections[at].name) {
          throw InvalidInput(
              path, fmt::format("two included files have the name {}", limen::quoted(experiment.sections[at].name)));
        }
      }
    }
  } else {
    experiment.sections.push_back(read_section(std::move(config), path, is_small));
    experiment.title = experiment.sections[0].title;
  }
  for (const auto& [name, value] : parameters) {
    if (used.contains(name)) continue;
    throw InvalidInput(path, fmt::format("asks for no parameter {} (--set){}", limen::quoted(name),
                                         did_you_mean(name, {used.begin(), used.end()})));
  }
  return experiment;
}

}  // namespace limen::cli::experiment
