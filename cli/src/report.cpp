// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "certified.h"
#include "flags.h"
#include "limen/base/json.h"
#include "limen/base/text.h"
#include "limen/report/render.h"
#include "limen/report/study.h"
#include "limen/train/model.h"
#include "options.h"
#include "prior_flags.h"
#include "report_page.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct ReportFlags {
  std::vector<std::string> inputs;
  std::vector<std::string> test;
  std::string output;
  ObjectiveFlags objective;
  std::string bounds;
  std::string methods;
  BinningFlags binning;
  std::string levels_from = "top";
  std::vector<std::string> confidence;
  std::uint64_t seed = 0;
  double interval = 0.95;
  std::string boundary;
  std::string compare;
  std::string model;
  std::vector<std::string> tau;
  PriorFlags priors;
  std::string title;
  TableFlags table;
  bool timings = false;
  bool json = false;
};

bool has_objective(const ObjectiveFlags& flags) {
  return !(flags.precision + flags.recall + flags.fpr + flags.flag_rate + flags.cost_fp + flags.cost_fn + flags.fbeta)
              .empty();
}

/// What `limen compare --json` said: bounds, methods, and seconds where it was asked for them.
struct Compared {
  std::vector<Rational> bounds;
  std::vector<Method> methods;
  std::map<std::pair<Method, double>, double> seconds;
};

Compared read_compared(const std::string& path) {
  const std::string text = read_json_text(path, "comparison");
  Compared compared;
  try {
    for (const auto& entry : parse_json(text, shown(path))) {
      const Method method = parse_method(entry.at("method").get<std::string>());
      const double bound = entry.at("bound").get<double>();
      const Rational exact = decimal_rational(bound);
      if (std::ranges::find(compared.bounds, exact) == compared.bounds.end()) compared.bounds.push_back(exact);
      if (std::ranges::find(compared.methods, method) == compared.methods.end()) compared.methods.push_back(method);
      const auto& trials = entry.at("trials");
      double sum = 0;
      for (const auto& trial : trials) sum += trial.value("seconds", 0.0);
      if (sum > 0) compared.seconds[{method, bound}] = sum / static_cast<double>(trials.size());
    }
  } catch (const nlohmann::json::exception&) {
    throw InvalidInput(shown(path), "is not what limen compare --json prints");
  }
  if (compared.bounds.empty())
    throw InvalidInput(shown(path), "has no bounds: it is not what limen compare --json prints");
  return compared;
}

/// Curves of every network of a model's folder.
std::vector<report::TrainingCurve> training_of(const std::string& folder) {
  const train::ModelCard card = train::load_card(folder);
  std::map<int, report::TrainingCurve> curves;
  for (const train::EpochReport& epoch : card.history) {
    report::TrainingCurve& curve = curves[epoch.member];
    curve.name =
        card.members > 1 ? fmt::format("network {}", epoch.member + 1) : fmt::format("seed {}", card.training.seed);
    if (epoch.is_best) curve.selected = epoch.epoch;
    report::TrainingEpoch& entry = curve.epochs.emplace_back();
    entry.epoch = epoch.epoch;
    entry.stage = std::string(train::to_string(epoch.stage));
    entry.train_loss = epoch.loss;
    if (epoch.log_loss == 0 && epoch.average_precision == 0) continue;  // warm-up looks at no validation rows
    entry.valid_loss = epoch.log_loss;
    entry.average_precision = epoch.average_precision;
    entry.roc_auc = epoch.roc_auc;
  }
  std::vector<report::TrainingCurve> training;
  for (auto& [member, curve] : curves) training.push_back(std::move(curve));
  return training;
}

report::BiasStudyOptions bias_options(const ReportFlags& flags) {
  report::BiasStudyOptions options;
  set_priors(options.parameters, flags.priors);
  options.tau.clear();
  for (const std::string& text : flags.tau) options.tau.push_back(real_of(text, "--tau"));
  for (const double tau : options.tau) {
    options.parameters.tau = tau;
    in_flags([&] { validate(options.parameters); });
  }
  return options;
}

/// A boundary file is where a study starts: its objective, its method, its levels and bins.
void start_from(const Boundary& boundary, const ReportFlags& flags, report::StudyOptions& options) {
  const bool is_auto = boundary.chosen_by.has_value();
  if (!has_objective(flags.objective)) options.objective = boundary.objective;
  if (flags.methods.empty()) options.methods.insert(options.methods.begin(), is_auto ? Method::kAuto : boundary.method);
  if (!is_auto && boundary.method != Method::kSt && flags.binning.levels.empty()) {
    options.fit.levels = static_cast<int>(boundary.rule.score_thresholds.size());
  }
  if (!is_auto && flags.binning.bins.empty() && boundary.bins) options.fit.bins = BinCount::of(*boundary.bins);
  if (!(boundary.objective == options.objective)) {
    throw InvalidInput(shown(flags.boundary), fmt::format("was fitted for {}; leave out the objective, or the boundary",
                                                          describe(boundary.objective)));
  }
  options.boundary = boundary;
  if (boundary.guarantee && flags.confidence.empty()) {
    options.certified_confidence = boundary.guarantee->confidence;
    options.seed = boundary.guarantee->seed;
  }
}

report::StudyOptions make_options(const ReportFlags& flags, const CLI::App& verb,
                                  const std::optional<Boundary>& boundary, const std::optional<Compared>& compared) {
  report::StudyOptions options = study_options(verb, flags.table);
  options.fit = make_fit_options(flags.binning);
  options.fit.levels_from = parse_levels_from(flags.levels_from);
  options.num_threads = flags.binning.threads;
  options.confidence = flags.interval;
  options.timings = flags.timings;
  if (!flags.title.empty()) options.title = flags.title;
  if (!flags.methods.empty()) options.methods = parse_methods(flags.methods);
  if (flags.methods == "all") std::rotate(options.methods.begin(), options.methods.end() - 1, options.methods.end());
  if (!flags.bounds.empty()) options.bounds = parse_bounds(flags.bounds, "--bounds");
  if (compared) {
    if (flags.bounds.empty()) options.bounds = compared->bounds;
    if (flags.methods.empty()) {
      options.methods = compared->methods;
      const auto decides = std::ranges::find(options.methods, Method::kAuto);
      if (decides != options.methods.end()) std::rotate(options.methods.begin(), decides, decides + 1);
    }
    options.objective = max_recall_at_precision(compared->bounds.front());
  }
  if (has_objective(flags.objective) || (!boundary && !compared)) options.objective = make_objective(flags.objective);
  if (boundary) start_from(*boundary, flags, options);
  const std::optional<CertifyOptions> certifying = make_certify_options({flags.confidence, flags.seed});
  if (certifying) {
    options.certified_confidence = certifying->confidence;
    options.seed = certifying->seed;
  }
  const PriorFlags& priors = flags.priors;
  if (flags.tau.empty() && !(priors.xi + priors.prior_strength + priors.omega + priors.model_strength).empty()) {
    throw InvalidInput("priors are for the bias of the score; give --tau with them");
  }
  if (!flags.tau.empty()) options.bias = bias_options(flags);
  validate(options);
  return options;
}

void add_seconds(report::Study& study, const Compared& compared) {
  for (report::StudyMethod& method : study.methods) {
    for (std::size_t bound = 0; bound < study.bounds.size(); ++bound) {
      const auto found = compared.seconds.find({method.method, study.bounds[bound].to_double()});
      if (found != compared.seconds.end() && !method.at[bound].seconds) method.at[bound].seconds = found->second;
    }
  }
}

int run(ReportFlags flags, const CLI::App& verb) {
  if (flags.output.empty() && !flags.json)
    throw InvalidInput("report: name the page with -o, or print the study with --json");
  if (flags.output == "-" && flags.json) throw InvalidInput("report: -o - and --json both write to stdout; give one");
  std::vector<std::string> files = flags.inputs;
  files.insert(files.end(), flags.test.begin(), flags.test.end());
  for (const std::string& path : {flags.boundary, flags.compare}) {
    if (!path.empty()) files.push_back(path);
  }
  check_stdin_once(files);
  std::optional<Boundary> boundary;
  std::optional<Compared> compared;
  if (!flags.boundary.empty()) boundary = read_boundary(flags.boundary);
  if (!flags.compare.empty()) compared = read_compared(flags.compare);
  if (boundary) {
    table::PredictionColumns& columns = flags.table.read.columns;
    if (verb.count("--score") == 0) columns.score = boundary->score_column;
    if (verb.count("--uncertainty") == 0) columns.uncertainty = boundary->uncertainty_column;
  }
  report::StudyOptions options = make_options(flags, verb, boundary, compared);
  const std::vector<report::TrainingCurve> training =
      flags.model.empty() ? std::vector<report::TrainingCurve>() : training_of(flags.model);
  const auto output = open_output(flags.output, files);

  const table::Predictions holdout = read_table(flags.inputs, flags.table);
  std::optional<table::Predictions> test;
  if (!flags.test.empty()) test = read_table(flags.test, flags.table);
  options.holdout = {shown(flags.inputs), holdout.rows_dropped};
  if (test) options.test = {shown(flags.test), test->rows_dropped};
  if (flags.methods == "all" && !holdout.weight.empty()) {
    std::erase(options.methods, Method::kVwDpmt);
    fmt::print(stderr, "vw-dpmt takes no weights and is left out\n");
  }
  if (flags.title.empty()) options.title = options.holdout.name;
  const Samples test_rows = test ? test->samples() : Samples{};
  report::Study study = in_table(
      options.holdout.name, [&] { return compute_study(holdout.samples(), test ? &test_rows : nullptr, options); });
  study.training = training;
  if (compared) add_seconds(study, *compared);

  const std::string json = report::study_json(study);
  if (output) {
    output->write(report::render_report(json));
    output->commit();
  }
  const report::StudyCell& cell = study.methods.front().at[study.start];
  const bool not_certified = !study.certification.empty() && !study.certification[study.start].certified;
  const int code = cell.status == report::CellStatus::kInfeasible || not_certified ? kInfeasible : kDone;
  if (flags.json) {
    fmt::print("{}\n", json);
  } else if (flags.output != "-") {
    fmt::print("{}\nGuarantee: {}\n{}, {}; written to {}\n", study.decision[study.start].sentence,
               study.decision[study.start].guarantee, plural_text(study.bounds.size(), "bound"),
               plural_text(study.methods.size(), "method"), shown(flags.output));
  }
  return code;
}

}  // namespace

void add_report(CLI::App& program, Action& action) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* verb =
      program.add_subcommand("report", "One HTML page: the decision, its gain and its guarantee, bound by bound");
  verb->add_option("HOLDOUT", flags->inputs, "Predictions with label to decide on, one or more files; - for stdin")
      ->required();
  verb->add_option("-o,--output", flags->output, "Write the page here, - for stdout");
  verb->add_option("--test", flags->test, "Predictions with label to judge on")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_objective_flags(*verb, flags->objective);
  FlagGroup group(*verb);
  group.add("--bounds", flags->bounds, "B,B,...", "Other bounds to look at [about 60 round numbers]");
  group.add("--methods", flags->methods, "M,M,...",
            "The first one decides; all: auto and all others [auto,st,exact,smooth]");
  group.add("--interval", flags->interval, "C", "Confidence of intervals and bands")
      ->check(CLI::Range(0.5, 0.999999).description(""));
  group.add("--title", flags->title, "TEXT", "Of the page [the hold-out's name]");
  group.toggle("--timings", flags->timings, "How long each fit took; the page is then another one every time");
  FlagGroup promise(*verb, "Promise");
  promise
      .add("--confidence", flags->confidence, "C",
           "Certify every bound for deployment with this probability, such as 0.95")
      ->expected(1)
      ->take_last();
  promise.add("--seed", flags->seed, "SEED", "With --confidence: which rows learn and which are tested");
  FlagGroup from(*verb, "From other verbs");
  from.add("--boundary", flags->boundary, "FILE",
           "Of limen fit: its objective, columns, levels and bins, and its rule as the decision at its bound");
  from.add("--compare", flags->compare, "FILE", "What limen compare --json printed: its bounds, methods and times");
  from.add("--model", flags->model, "FOLDER", "Of limen train: how it learned");
  FlagGroup bias(*verb, "Bias of the score (limen bias)");
  bias.list("--tau", flags->tau, "Negatives in training were kept at rate 1/tau: show the theory's bias");
  add_prior_flags(bias, flags->priors);
  add_binning_flags(*verb, flags->binning, "500 for the paper's methods, else all");
  add_levels_from_flag(*verb, flags->levels_from);
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print the study as JSON (docs/study.md)");
  verb->footer(
      "Example: limen report holdout.csv --test test.csv --precision 0.3 -o report.html\n"
      "limen report holdout.csv --boundary b.json --confidence 0.9 -o report.html starts from a boundary of limen "
      "fit.\n"
      "The page needs nothing beside itself and is the same, byte for byte, for the same input.\n"
      "Exit code 3: the bound that was asked for cannot be met, or not certified; the page says so.");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
