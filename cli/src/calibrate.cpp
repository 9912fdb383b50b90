// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "calibration.h"
#include "flags.h"
#include "limen/base/machine_memory.h"
#include "limen/base/text.h"
#include "limen/table/format.h"
#include "options.h"
#include "prior_flags.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct CalibrateFlags {
  std::vector<std::string> inputs;
  std::vector<std::string> test;
  std::string output;
  std::string curves;
  std::string output_format;
  std::string levels = "3";
  std::string bins = "10";
  std::string binning = "equi-weight";
  std::string tau;
  std::string evidence;
  PriorFlags priors;
  BootstrapFlags bootstrap = {.replicates = 200};
  std::uint64_t seed = 0;
  std::string max_memory;
  TableFlags table;
  int threads = 0;
  bool json = false;
};

/// The corrections that flags ask for, checked before anything is read.
void set_corrections(CalibrationSet& set, const CalibrateFlags& flags) {
  const PriorFlags& priors = flags.priors;
  const bool has_priors =
      !(priors.xi.empty() && priors.prior_strength.empty() && priors.omega.empty() && priors.model_strength.empty());
  if (flags.tau.empty()) {
    if (!flags.evidence.empty()) {
      throw InvalidInput("--evidence", "the theorem's correction needs the rate of undersampling; give it with --tau");
    }
    if (has_priors) throw InvalidInput("priors are for the theorem's correction; give --evidence and --tau with them");
    return;
  }
  BiasParameters parameters;
  parameters.tau = real_of(flags.tau, "--tau");
  set_priors(parameters, priors);
  in_flags([&] { validate(parameters); });
  set.tau = parameters.tau;
  if (!flags.evidence.empty() && (priors.xi.empty() || priors.prior_strength.empty())) {
    throw InvalidInput("--evidence",
                       "the theorem's correction needs the global prior in deployment; give --xi and "
                       "--prior-strength");
  }
  if (flags.evidence.empty()) {
    if (has_priors) throw InvalidInput("priors are for the theorem's correction; name its column with --evidence");
    return;
  }
  set.evidence = EvidenceCorrection{.tau = parameters.tau,
                                    .xi = parameters.xi,
                                    .prior_strength = parameters.prior_strength,
                                    .omega = parameters.omega,
                                    .model_strength = parameters.model_strength,
                                    .column = flags.evidence};
}

/// Rows are kept in memory: refuses more than fit, before they are read.
void check_memory(const std::vector<std::string>& paths, const CalibrateFlags& flags) {
  // Columns, a distinct score of each row counted twice, its cell, probabilities of one calibrator at a time.
  constexpr std::uint64_t kBytesPerRow = 200;
  const std::uint64_t limit =
      flags.max_memory.empty() ? machine_memory() / 2 : parse_bytes(flags.max_memory, "--max-memory");
  std::optional<std::uint64_t> rows;
  try {
    rows = table::estimate_rows(table::TableFiles(paths), read_options(shown(paths), flags.table).read);
  } catch (const std::runtime_error&) {
    // What is wrong with the files, reading them will tell.
  } catch (const InvalidInput&) {
  }
  if (!rows || *rows <= limit / kBytesPerRow) return;
  throw InvalidInput(shown(paths),
                     fmt::format("about {} do not fit into {} MB; allow more with --max-memory, or take a sample: some "
                                 "millions of rows tell as much",
                                 plural_text(*rows, "row"), limit / 1'000'000));
}

CalibratedRows rows_of(const table::Predictions& table, const std::string& name) {
  return {.score = table.score.span(),
          .uncertainty = table.uncertainty.span(),
          .evidence = std::span<const double>(table.evidence),
          .table = name};
}

CalibrationErrors judge(const CalibrationSet& set, const table::Predictions& table, const std::string& name,
                        JudgedOn judged_on, const CalibrateFlags& flags) {
  std::vector<std::vector<double>> corrected;
  std::vector<ProbabilityColumn> corrections;
  corrected.reserve(2);
  for (const Calibrator calibrator : {Calibrator::kTau, Calibrator::kEvidence}) {
    if (!set.has(calibrator)) continue;
    corrected.push_back(calibrate_rows(set, calibrator, rows_of(table, name), flags.threads));
    corrections.push_back({std::string(to_string(calibrator)), std::span<const double>(corrected.back()),
                           calibrator != Calibrator::kEvidence});
  }
  CalibrationErrorOptions options;
  options.bins = static_cast<int>(parse_integer(flags.bins, "--bins", 1, 1000));
  options.binning = parse_binning(flags.binning);
  options.num_threads = flags.threads;
  if (flags.bootstrap.replicates > 0 && table.weight.empty()) {
    options.bootstrap->replicates = flags.bootstrap.replicates;
    options.bootstrap->seed = flags.bootstrap.seed;
  } else {
    options.bootstrap.reset();
  }
  return judge_calibration_set(set, table.samples(), judged_on, corrections, flags.seed, options);
}

int run(CalibrateFlags flags, const CLI::App& verb) {
  std::vector<std::string> all = flags.inputs;
  all.insert(all.end(), flags.test.begin(), flags.test.end());
  check_stdin_once(all);
  CalibrationSet corrections;
  set_corrections(corrections, flags);
  const int levels = static_cast<int>(parse_integer(flags.levels, "--levels", 1, 1000));
  (void)parse_integer(flags.bins, "--bins", 1, 1000);
  const auto format = parse_format(flags.output_format);
  if (!flags.output_format.empty() && flags.curves.empty()) {
    throw InvalidInput("--output-format: there are no curves to write; name a file with --curves");
  }
  if (!flags.curves.empty()) (void)table::output_format(flags.curves, format);
  (void)open_output(flags.curves, all);
  const auto output = open_output(flags.output, all);
  flags.table.read.columns.evidence = flags.evidence;
  check_memory(flags.inputs, flags);
  if (!flags.test.empty()) check_memory(flags.test, flags);

  const std::string holdout_name = shown(flags.inputs);
  const table::Predictions holdout = read_table(flags.inputs, flags.table);
  const auto check_weights = [&](const table::Predictions& table, const std::string& name) {
    if (table.weight.empty() || verb.count("--bootstrap") == 0 || flags.bootstrap.replicates == 0) return;
    throw InvalidInput(name, "rows have weights, but --bootstrap draws rows; leave it out, or the column of weights");
  };
  check_weights(holdout, holdout_name);
  CalibrationSet set = in_table(holdout_name, [&] {
    return fit_calibration_set(holdout.samples(), levels, parse_binning(flags.binning), flags.seed);
  });
  set.tau = corrections.tau;
  set.evidence = corrections.evidence;
  set.score_column = flags.table.read.columns.score;
  set.uncertainty_column = flags.table.read.columns.uncertainty;
  for (const Calibrator calibrator : {Calibrator::kTau, Calibrator::kEvidence}) {
    if (!set.has(calibrator)) continue;
    const auto probability = calibrate_rows(set, calibrator, rows_of(holdout, holdout_name), flags.threads);
    const auto loss = mean_log_loss(holdout.samples(), std::span<const double>(probability));
    if (loss) add_loss(set, calibrator, *loss);
  }
  std::optional<table::Predictions> test;
  if (!flags.test.empty()) test = read_table(flags.test, flags.table);
  const std::string judged_name = test ? shown(flags.test) : holdout_name;
  if (test) check_weights(*test, judged_name);
  const JudgedOn judged_on = test ? JudgedOn::kTest : JudgedOn::kHoldout;
  const CalibrationErrors errors =
      in_table(judged_name, [&] { return judge(set, test ? *test : holdout, judged_name, judged_on, flags); });
  if (output) {
    output->write(to_json(set));
    output->commit();
  }
  if (!flags.curves.empty()) write_calibration_curves(flags.curves, format, errors);
  if (flags.output == "-" || flags.curves == "-") return kDone;
  const report::CalibrationStudy study = {.set = set,
                                          .errors = errors,
                                          .is_cross_validated = !test,
                                          .folds = kCalibrationFolds,
                                          .replicates = errors.weighted ? 0 : flags.bootstrap.replicates,
                                          .seed = flags.bootstrap.seed,
                                          .rows_dropped = test ? test->rows_dropped : holdout.rows_dropped};
  if (flags.json) {
    fmt::print("{}\n", report::calibration_json(study).dump(1));
  } else {
    print_report({.study = study, .holdout = holdout_name, .judged = judged_name}, flags.output);
  }
  return kDone;
}

}  // namespace

void add_calibrate(CLI::App& program, Action& action) {
  auto flags = std::make_shared<CalibrateFlags>();
  CLI::App* verb = program.add_subcommand(
      "calibrate", "Probabilities from scores: isotonic by uncertainty level, or corrected for undersampling");
  verb->add_option("HOLDOUT", flags->inputs, "Predictions with label to fit on, one or more files; - for stdin")
      ->required();
  verb->add_option("-o,--output", flags->output, "Write the calibrators here, for limen apply; - for stdout");
  verb->add_option("--test", flags->test,
                   "Judge on these rows; without it on the hold-out, each row by calibrators of other rows")
      ->delimiter(',')
      ->allow_extra_args(false);
  FlagGroup group(*verb);
  group.add("--levels", flags->levels, "K", "Uncertainty levels, 1 to 1000");
  group.add("--bins", flags->bins, "L", "Score bins of each level in which errors are counted, 1 to 1000");
  group.choice("--binning", flags->binning, "KIND", {"equi-weight", "equi-span"},
               "equi-weight (quantiles) or equi-span (equal intervals)");
  group.add("--seed", flags->seed, "N", "Of the cross-validation");
  add_bootstrap_flags(*verb, flags->bootstrap, "bands");
  FlagGroup undersampling(*verb, "Undersampling");
  undersampling.add("--tau", flags->tau, "X",
                    "Negatives in training were kept at rate 1/tau: also the corrected probability");
  undersampling.add("--evidence", flags->evidence, "COLUMN",
                    "Training rows behind each score: also the theorem's correction, with --tau and these priors");
  add_prior_flags(undersampling, flags->priors);
  // No default would be right for a prior of the user's own data.
  for (const char* flag : {"--xi", "--prior-strength"}) {
    CLI::Option* const option = verb->get_option(flag);
    option->default_str("")->description(option->get_description() + "; needed with --evidence");
  }
  verb->add_option("--curves", flags->curves, "Write ECE@j and cumulative ECE@j here: CSV, TSV, Parquet or Arrow");
  add_output_format_flag(*verb, flags->output_format);
  verb->add_option("--max-memory", flags->max_memory, "Refuse tables that need more, such as 8GB [half of the memory]");
  add_threads_flag(*verb, flags->threads);
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer(
      "Example: limen calibrate holdout.csv --test test.csv --tau 5 -o c.json\n"
      "         limen apply c.json today.csv -o probabilities.csv\n"
      "ist: isotonic regression on the score; mist: one for each uncertainty level; shrunken: mist drawn towards ist.\n"
      "The file says which had the least log loss on rows left out of the hold-out; limen apply takes that one.");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
