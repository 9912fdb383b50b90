// SPDX-License-Identifier: MIT
#include "experiment/read_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "experiment/config_reader.h"
#include "experiment/config_values.h"
#include "limen/base/error.h"
#include "limen/base/json.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "limen/train/preset.h"

namespace limen::cli::experiment {
namespace {

constexpr double kMostTau = 1e9;

using StoredJson = nlohmann::json;

constexpr std::size_t kMostConfigBytes = std::size_t{1} << 24U;
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

void read_grid(Part& part, ConfigReader reader) {
  const bool is_simulated = std::holds_alternative<SimulatedData>(part.data);
  part.seeds = reader.integers("seeds", {1}, 0, INT64_MAX);
  part.tau = reader.numbers("tau", {is_simulated ? 3.0 : 1.0}, is_simulated ? 1e-9 : 1, kMostTau);
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
