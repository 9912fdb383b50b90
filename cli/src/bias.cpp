// SPDX-License-Identifier: MIT
#include "limen/theory/bias.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "flags.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/report/bias_study.h"
#include "limen/table/format.h"
#include "limen/table/write_table.h"
#include "options.h"
#include "prior_flags.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct BiasFlags {
  std::vector<std::string> tau = {"3"};
  std::vector<std::string> evidence = {"2", "10", "50", "1000"};
  std::vector<std::string> scores;
  PriorFlags priors;
  std::string points = "21";
  std::string simulate;
  std::uint64_t seed = 0;
  std::string output;
  std::string output_format;
  bool csv = false;
  bool json = false;
};

using report::BiasCurve;
using report::BiasStudy;
using report::BiasStudyOptions;

std::vector<double> numbers_of(const std::vector<std::string>& texts, const char* flag) {
  std::vector<double> numbers;
  for (const std::string& text : texts) {
    const double number = real_of(text, flag);
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) {
      throw InvalidInput(flag, fmt::format("{} is given twice; give each number once", number_text(number)));
    }
    numbers.push_back(number);
  }
  return numbers;
}

BiasStudyOptions make_asked(const BiasFlags& flags) {
  BiasStudyOptions asked;
  BiasParameters& parameters = asked.parameters;
  set_priors(parameters, flags.priors);
  asked.tau = numbers_of(flags.tau, "--tau");
  asked.evidence = numbers_of(flags.evidence, "--evidence");
  for (const double tau : asked.tau) {
    parameters.tau = tau;
    in_flags([&] { validate(parameters); });
  }
  if (!flags.simulate.empty()) {
    asked.regions = parse_integer(flags.simulate, "--simulate", 2, 1'000'000'000);
    if (!flags.scores.empty()) {
      throw InvalidInput("--scores: the process of --simulate gives its own scores; say with --points how many cells");
    }
  }
  for (const double rows : asked.evidence) {
    const bool fits =
        asked.regions > 0 ? rows >= 1 && rows <= 1e9 && rows == std::floor(rows) : rows > 0 && rows <= 1e12;
    if (!fits) {
      throw InvalidInput("--evidence",
                         fmt::format("{} is not {}", number_text(rows),
                                     asked.regions > 0 ? "a whole number from 1 to 1e9, which --simulate needs"
                                                       : "above 0 and at most 1e12"));
    }
  }
  asked.points = static_cast<int>(parse_integer(flags.points, "--points", 2, 100'001));
  asked.scores = numbers_of(flags.scores, "--scores");
  asked.seed = flags.seed;
  for (const double score : asked.scores) {
    if (!(score >= 0 && score <= 1)) {
      throw InvalidInput("--scores", fmt::format("{} is not between 0 and 1", number_text(score)));
    }
  }
  return asked;
}

/// The curves one after the other as columns; those of the simulation only where there was one.
void write_curves(const std::string& path, std::optional<table::Format> format, const std::vector<BiasCurve>& curves,
                  bool simulated) {
  std::vector<double> tau, evidence, lambda, gamma, nu, score, train, expected, bias;
  std::vector<double> truth, truth_error, test, test_error;
  std::vector<std::int64_t> regions;
  for (const BiasCurve& curve : curves) {
    const auto add = [&](double at, double seen, double mean) {
      tau.push_back(curve.tau);
      evidence.push_back(curve.evidence);
      lambda.push_back(curve.ratios.lambda);
      gamma.push_back(curve.ratios.gamma);
      nu.push_back(curve.ratios.nu);
      score.push_back(at);
      train.push_back(seen);
      expected.push_back(mean);
      bias.push_back(at - mean);
    };
    for (std::size_t point = 0; point < curve.points.score.size(); ++point) {
      add(curve.points.score[point], curve.points.train_positivity[point], curve.points.expected_positivity[point]);
    }
    for (const SimulatedBiasCell& cell : curve.cells) {
      add(cell.score, cell.train_positivity, cell.expected_positivity);
      regions.push_back(cell.regions);
      truth.push_back(cell.true_positivity.mean);
      truth_error.push_back(cell.true_positivity.standard_error);
      test.push_back(cell.test_positivity.mean);
      test_error.push_back(cell.test_positivity.standard_error);
    }
  }
  std::vector<table::WrittenColumn> columns = {{"tau", std::move(tau)},
                                               {"evidence", std::move(evidence)},
                                               {"lambda", std::move(lambda)},
                                               {"gamma", std::move(gamma)},
                                               {"nu", std::move(nu)},
                                               {"score", std::move(score)},
                                               {"train_positivity", std::move(train)},
                                               {"expected_positivity", std::move(expected)},
                                               {"bias", std::move(bias)}};
  if (simulated) {
    columns.push_back({"regions", std::move(regions)});
    columns.push_back({"true_positivity", std::move(truth)});
    columns.push_back({"true_positivity_se", std::move(truth_error)});
    columns.push_back({"test_positivity", std::move(test)});
    columns.push_back({"test_positivity_se", std::move(test_error)});
  }
  table::write_table(path, columns, format);
}

/// Positivities may be small: four digits, wherever they begin.
std::string share_text(double value) { return fmt::format("{:.4g}", value); }

void print_head(const BiasStudyOptions& asked) {
  const BiasParameters& parameters = asked.parameters;
  fmt::print("global prior: {:g} positive, strength {:g}; model's prior: {:g} positive, strength {:g}\n", parameters.xi,
             parameters.prior_strength, parameters.omega, parameters.model_strength);
}

/// Scores down, evidence across, a table for each tau.
void print_curves(const BiasStudyOptions& asked, const std::vector<BiasCurve>& curves) {
  print_head(asked);
  fmt::print("expected positivity, true and test, by score and evidence n; in brackets the bias, score less it\n");
  for (std::size_t first = 0; first < curves.size(); first += asked.evidence.size()) {
    std::vector<std::vector<std::string>> rows = {{"score"}};
    for (std::size_t at = first; at < first + asked.evidence.size(); ++at) {
      rows[0].push_back(fmt::format("n {}", number_text(curves[at].evidence)));
    }
    for (std::size_t point = 0; point < asked.scores.size(); ++point) {
      rows.push_back({share_text(asked.scores[point])});
      for (std::size_t at = first; at < first + asked.evidence.size(); ++at) {
        const BiasCurves& found = curves[at].points;
        rows.back().push_back(
            std::isnan(found.bias[point])
                ? "-"
                : fmt::format("{} ({:+.4f})", share_text(found.expected_positivity[point]), found.bias[point]));
      }
    }
    fmt::print("\ntau {}\n{}", number_text(curves[first].tau), table_text(rows));
  }
  if (std::any_of(curves.begin(), curves.end(), [](const BiasCurve& curve) {
        return std::any_of(curve.points.bias.begin(), curve.points.bias.end(),
                           [](double bias) { return std::isnan(bias); });
      })) {
    fmt::print("\n-: with so little evidence the model's prior keeps its scores from there\n");
  }
}

/// A table for each tau and evidence: what was drawn beside what the theory says.
void print_simulation(const BiasStudyOptions& asked, const std::vector<BiasCurve>& curves) {
  print_head(asked);
  fmt::print("{} drawn for each tau and evidence n; s.e.: standard error, z: (true - theory) / s.e.\n",
             plural_text(asked.regions, "region"));
  double largest = 0;
  std::size_t judged = 0;
  for (const BiasCurve& curve : curves) {
    std::vector<std::vector<std::string>> rows = {{"score", "regions", "theory", "true", "s.e.", "z", "test", "s.e."}};
    for (const SimulatedBiasCell& cell : curve.cells) {
      const auto& [truth, truth_error] = cell.true_positivity;
      const double z = (truth - cell.expected_positivity) / truth_error;
      const bool is_judged = std::isfinite(z);
      if (is_judged) {
        largest = std::max(largest, std::abs(z));
        ++judged;
      }
      rows.push_back({share_text(cell.score), count_text(static_cast<double>(cell.regions)),
                      share_text(cell.expected_positivity), share_text(truth),
                      is_judged ? share_text(truth_error) : "-", is_judged ? fmt::format("{:+.2f}", z) : "-",
                      share_text(cell.test_positivity.mean), share_text(cell.test_positivity.standard_error)});
    }
    fmt::print("\ntau {}, n {}\n{}", number_text(curve.tau), number_text(curve.evidence), table_text(rows));
  }
  fmt::print("\nlargest |z| of {}: {:.2f}\n", plural_text(judged, "cell"), largest);
}

int run(const BiasFlags& flags) {
  if (flags.csv && flags.json) throw InvalidInput("bias: give either --csv or --json, not both");
  if (flags.csv && !flags.output.empty()) throw InvalidInput("bias: --csv is for stdout; -o writes a file, give one");
  if (!flags.output_format.empty() && flags.output.empty()) {
    throw InvalidInput("--output-format: there is no output; name one with -o");
  }
  const std::string output = flags.csv ? "-" : flags.output;
  BiasStudyOptions asked = make_asked(flags);
  const auto format = parse_format(flags.output_format);
  if (!output.empty()) (void)table::output_format(output, format);
  (void)open_output(output, {});  // refuses a path that cannot be written before any work is done
  const BiasStudy study = in_flags([&] { return report::compute_bias_study(std::move(asked)); });
  const bool simulated = study.options.regions > 0;
  if (!output.empty()) {
    write_curves(output, format, study.curves, simulated);
    if (output == "-") return kDone;
  }
  if (flags.json) {
    fmt::print("{}\n", report::bias_json(study).dump(1));
    return kDone;
  }
  simulated ? print_simulation(study.options, study.curves) : print_curves(study.options, study.curves);
  if (!output.empty()) fmt::print("written to {}\n", shown(output));
  return kDone;
}

}  // namespace

void add_bias(CLI::App& program, Action& action) {
  auto flags = std::make_shared<BiasFlags>();
  CLI::App* verb = program.add_subcommand(
      "bias", "The theory: expected positivity and bias of a score, by evidence and undersampling");
  FlagGroup group(*verb);
  group.list("--tau", flags->tau, "Negatives in training are kept at rate 1/tau, 1e-9 to 1e9")->default_str("3");
  group.list("--evidence", flags->evidence, "Training rows n behind a score, above 0 to 1e12")
      ->default_str("2,10,50,1000");
  add_prior_flags(group, flags->priors);
  CLI::Option* const scores =
      group.list("--scores", flags->scores, "Scores, 0 to 1; default: --points of them, evenly spaced");
  group.add("--points", flags->points, "N", "Scores of a curve, 2 to 100001; with --simulate cells at most")
      ->excludes(scores);
  CLI::Option* const simulate = group.add("--simulate", flags->simulate, "N",
                                          "Draw so many regions by the generation process, beside the theory");
  group.add("--seed", flags->seed, "N", "Of the regions drawn")->needs(simulate);
  verb->add_option("-o,--output", flags->output,
                   "Write the curves here: CSV, TSV, Parquet or Arrow by its name; - for stdout (CSV)");
  add_output_format_flag(*verb, flags->output_format);
  verb->add_flag("--csv", flags->csv, "Print CSV, as -o -");
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer(
      "Example: limen bias --tau 3,10 --xi 0.25 --evidence 2,10,50 -o bias.csv\n"
      "         limen bias --tau 3 --evidence 10 --simulate 1000000");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace limen::cli
