// SPDX-License-Identifier: MIT
#include "experiment/cells.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "limen/base/version.h"
#include "limen/table/output_file.h"

namespace limen::cli::experiment {
namespace {

namespace fs = std::filesystem;

// Goes up when the content of a cell's file changes its meaning.
constexpr int kCellFormat = 1;
constexpr std::size_t kMostCellBytes = std::size_t{1} << 28U;

/// 128 bits in hexadecimal digits.
std::string hash_text(const nlohmann::json& json) {
  const std::string text = json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return fmt::format("{:016x}{:016x}", text_hash(text), text_hash("limen" + text));
}

}  // namespace

void write_text(const std::string& path, const std::string& text) {
  table::OutputFile file(path);
  file.write(text);
  file.commit();
}

std::string Cell::name(const Experiment& experiment) const {
  const Section& owner = experiment.sections[section];
  const Part& its_part = owner.parts[part];
  std::string text = owner.name == its_part.name ? its_part.name : owner.name + "/" + its_part.name;
  text += fmt::format(": seed {}", seed);
  if (!model.empty()) text += fmt::format(", tau {}, {}", number_text(tau), model);
  if (!encoder.empty()) text += ", " + encoder;
  if (!uncertainty.empty()) text += ", " + uncertainty;
  return text;
}

std::vector<Cell> make_cells(const Experiment& experiment,
                             const std::vector<std::vector<std::uint64_t>>& fingerprints) {
  std::vector<Cell> cells;
  for (std::size_t section = 0; section < experiment.sections.size(); ++section) {
    const std::vector<Part>& parts = experiment.sections[section].parts;
    for (std::size_t at = 0; at < parts.size(); ++at) {
      const Part& part = parts[at];
      if (std::holds_alternative<DrawnData>(part.data)) continue;
      const auto add = [&](Cell cell) {
        cell.section = section;
        cell.part = at;
        nlohmann::json& what = cell.determined_by;
        what["limen"] = kLimenVersion;
        what["format"] = kCellFormat;
        what["data"] = part.determined_by["data"];
        what["fingerprint"] = fingerprints[section][at];
        what["seed"] = cell.seed;
        if (!cell.model.empty()) {
          what["tau"] = cell.tau;
          what["model"] = cell.model;
          what["encoder"] = cell.encoder;
          if (cell.model != "ideal") what["train"] = part.determined_by["train"];
          // Swap columns ride along with the rows of a model.
          cell.model_key = hash_text(what);
          what["uncertainty"] = cell.uncertainty;
          what["study"] = part.determined_by["study"];
        } else {
          cell.model_key = hash_text(what);
        }
        cell.key = hash_text(what);
        cells.push_back(std::move(cell));
      };
      if (std::holds_alternative<TheoryData>(part.data)) {
        for (const std::int64_t seed : part.seeds) add({.seed = seed});
        continue;
      }
      for (const double tau : part.tau) {
        for (const std::string& model : part.models) {
          const std::vector<std::string> encoders = model == "ideal" ? std::vector<std::string>{""} : part.encoders;
          for (const std::string& encoder : encoders) {
            for (const std::string& uncertainty : part.uncertainties) {
              for (const std::int64_t seed : part.seeds) {
                add({.seed = seed, .tau = tau, .model = model, .encoder = encoder, .uncertainty = uncertainty});
              }
            }
          }
        }
      }
    }
  }
  return cells;
}

CellStore::CellStore(std::string folder) : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw IoError(IoError::Access::kWrite, folder_, "cannot be made: " + error.message());
}

std::string CellStore::path(const std::string& key, const char* kind) const {
  return (fs::path(folder_) / (key + kind)).string();
}

std::string CellStore::checkpoint(const Cell& cell) const { return path(cell.model_key, ".checkpoint"); }

std::optional<Json> CellStore::load(const Cell& cell) const {
  const std::string file = path(cell.key, ".json");
  if (!fs::exists(file)) return std::nullopt;
  const Json stored = Json::parse(read_regular_file(file, kMostCellBytes), nullptr, false);
  if (!stored.is_object() || !stored.contains("determined_by") || !stored.contains("figures")) return std::nullopt;
  if (nlohmann::json(stored["determined_by"]) != cell.determined_by) return std::nullopt;
  return stored["figures"];
}

void CellStore::save(const Cell& cell, const CellResult& result) const {
  write_text(path(cell.key, ".times.json"), result.times.dump(1) + "\n");
  Json stored = Json::object();
  stored["determined_by"] = Json(cell.determined_by);
  stored["figures"] = result.figures;
  write_text(path(cell.key, ".json"), stored.dump(1) + "\n");
}

Json CellStore::load_times(const Cell& cell) const {
  const std::string file = path(cell.key, ".times.json");
  if (!fs::exists(file)) return Json::object();
  Json times = Json::parse(read_regular_file(file, kMostCellBytes), nullptr, false);
  return times.is_object() ? times : Json::object();
}

std::size_t CellStore::prune(const std::vector<Cell>& cells) const {
  std::set<std::string> known;
  for (const Cell& cell : cells) {
    known.insert(cell.key);
    known.insert(cell.model_key);
  }
  std::size_t pruned = 0;
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (known.contains(name.substr(0, name.find('.')))) continue;
    old.push_back(entry.path());
    pruned += name.ends_with(".json") && !name.ends_with(".times.json") ? 1 : 0;
  }
  for (const fs::path& file : old) fs::remove(file);
  return pruned;
}

}  // namespace limen::cli::experiment
