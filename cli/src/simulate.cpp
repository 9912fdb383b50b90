// SPDX-License-Identifier: MIT
#include "limen/theory/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "limen/base/error.h"
#include "limen/theory/simulated_features.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct SimulateFlags {
  std::string folder;
  SimulationOptions options;
  std::vector<double> prior = {1, 3};
  std::vector<double> model_prior = {1, 1};
  bool features = false;
  bool json = false;
};

template <typename... Values>
void write_line(table::OutputFile& file, fmt::format_string<Values...> format, Values&&... values) {
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), format, std::forward<Values>(values)...);
  line.push_back('\n');
  file.write({line.data(), line.size()});
}

std::size_t write_predictions(table::OutputFile& out, const Simulation& simulation, const SimulatedRows& rows) {
  write_line(out, "score,uncertainty,label,region,true_positivity");
  for (std::size_t row = 0; row < rows.label.size(); ++row) {
    const Region& region = simulation.regions[static_cast<std::size_t>(rows.region[row])];
    write_line(out, "{},{},{},r{},{}", region.score, region.uncertainty, rows.label[row], rows.region[row],
               region.true_positivity);
  }
  return rows.label.size();
}

std::size_t write_features(table::OutputFile& out, const Simulation& simulation, SimulatedTable table,
                           std::uint64_t seed) {
  std::size_t num_rows = 0;
  write_line(out, "region,x1,x2,label");
  for_each_simulated_row(simulation, table, seed, [&](const SimulatedFeatures& row) {
    write_line(out, "r{},{:.5f},{:.5f},{}", row.region, row.x1, row.x2, row.label);
    ++num_rows;
  });
  return num_rows;
}

/// The flag of a field of the options: --holdout-rows for holdout_rows.
std::string flag_of(std::string name) {
  for (const char* suffix : {"prior_positive", "prior_negative"}) {
    const std::size_t at = name.find(suffix);
    if (at != std::string::npos) name = name.substr(0, at) + "prior";
  }
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

int run(SimulateFlags flags) {
  flags.options.prior_positive = flags.prior[0];
  flags.options.prior_negative = flags.prior[1];
  flags.options.model_prior_positive = flags.model_prior[0];
  flags.options.model_prior_negative = flags.model_prior[1];
  if (flags.folder.empty() || flags.folder == "-") throw InvalidInput("--output: name a folder");
  try {
    validate(flags.options);
  } catch (const InvalidInput& error) {
    throw InvalidInput(Where{.field = flag_of(error.where().field)}, error.problem());
  }
  std::error_code error;
  std::filesystem::create_directories(flags.folder, error);
  if (error) throw InvalidInput(fmt::format("{}: cannot be made: {}", flags.folder, error.message()));
  const Simulation simulation = simulate(flags.options);

  // All files are written before the first one takes its place.
  struct Written {
    std::string path;
    std::unique_ptr<table::OutputFile> file;
    std::size_t rows = 0;
  };
  std::vector<Written> written;
  try {
    const auto open = [&](const char* name) {
      const std::string path = (std::filesystem::path(flags.folder) / name).string();
      written.push_back({path, std::make_unique<table::OutputFile>(path), 0});
    };
    open("holdout.csv");
    open("test.csv");
    if (flags.features) {
      for (const char* name : {"features_train.csv", "features_holdout.csv", "features_test.csv"}) open(name);
    }
    written[0].rows = write_predictions(*written[0].file, simulation, simulation.holdout);
    written[1].rows = write_predictions(*written[1].file, simulation, simulation.test);
    if (flags.features) {
      const std::uint64_t seed = flags.options.seed;
      written[2].rows = write_features(*written[2].file, simulation, SimulatedTable::kTrain, seed);
      written[3].rows = write_features(*written[3].file, simulation, SimulatedTable::kHoldout, seed);
      written[4].rows = write_features(*written[4].file, simulation, SimulatedTable::kTest, seed);
    }
    for (const Written& table : written) table.file->commit();
  } catch (const IoError& failure) {
    throw InvalidInput(failure.what());
  }
  if (flags.json) {
    Json report = Json::array();
    for (const Written& table : written) report.push_back({{"file", table.path}, {"rows", table.rows}});
    fmt::print("{}\n", report.dump(1));
  } else {
    for (const Written& table : written) {
      fmt::print("{}: {}\n", table.path, plural_text(table.rows, "row"));
    }
  }
  return kDone;
}

}  // namespace

void add_simulate(CLI::App& program, Action& action) {
  auto flags = std::make_shared<SimulateFlags>();
  SimulationOptions& options = flags->options;
  CLI::App* verb = program.add_subcommand("simulate", "Make data by the paper's generation process");
  verb->add_option("-o,--output", flags->folder, "Folder for holdout.csv and test.csv")->required();
  verb->add_option("--prior", flags->prior, "True prior Beta of a region's positivity: B1,B0")
      ->delimiter(',')
      ->expected(2)
      ->capture_default_str();
  verb->add_option("--model-prior", flags->model_prior, "Prior Beta of the model: B1,B0")
      ->delimiter(',')
      ->expected(2)
      ->capture_default_str();
  verb->add_option("--tau", options.tau, "Negatives in training are kept at rate 1/tau")->capture_default_str();
  verb->add_option("--regions", options.regions, "Regions of the input space")->capture_default_str();
  verb->add_option("--evidence-scale", options.evidence_scale, "Smallest number of training rows of a region")
      ->capture_default_str();
  verb->add_option("--evidence-tail", options.evidence_tail, "Tail exponent of the training rows' Pareto law")
      ->capture_default_str();
  verb->add_option("--evidence-limit", options.evidence_limit, "Largest number of training rows of a region")
      ->capture_default_str();
  verb->add_option("--holdout-rows", options.holdout_rows, "Rows of holdout.csv")->capture_default_str();
  verb->add_option("--test-rows", options.test_rows, "Rows of test.csv")->capture_default_str();
  verb->add_option("--seed", options.seed, "Seed; the same seed gives the same files")->capture_default_str();
  verb->add_flag(
      "--features", flags->features,
      "Also features_{train,holdout,test}.csv to train a model on, training rows at the natural rate (40 million with "
      "the defaults; --evidence-limit 100 makes it small)");
  verb->add_flag("--json", flags->json, "Print what was written as JSON");
  verb->footer("Example: limen simulate -o demo --prior 1,3 --tau 3 --seed 1");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace limen::cli
