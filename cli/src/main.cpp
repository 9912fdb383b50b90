// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "hints.h"
#include "limen/base/error.h"
#include "limen/base/nearest_name.h"
#include "limen/base/version.h"
#include "text.h"
#include "verbs.h"

namespace {

/// What was wrong with the command line, with the nearest verb or flag where a name is unknown.
std::string usage_error(const CLI::App& program, int argc, char** argv, const CLI::ParseError& error) {
  using limen::nearest_name;
  const auto guess = [](const std::string& nearest) {
    return nearest.empty() ? std::string() : fmt::format("; did you mean {}?", nearest);
  };
  std::vector<std::string> verbs;
  for (const CLI::App* verb : program.get_subcommands({})) verbs.push_back(verb->get_name());
  if (argc < 2) return fmt::format("give a verb: {} (see limen --help)", fmt::join(verbs, ", "));
  const std::string first = argv[1];
  if (std::find(verbs.begin(), verbs.end(), first) == verbs.end()) {
    const bool flag = first[0] == '-';
    return fmt::format("\"{}\" is not a {}{} (see limen --help)", first, flag ? "flag" : "verb",
                       guess(nearest_name(first, flag ? std::vector<std::string>{"--help", "--version"} : verbs)));
  }
  const CLI::App* verb = program.get_subcommand(first);
  std::vector<std::string> flags;
  for (const CLI::Option* option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  for (int at = 2; at < argc; ++at) {
    const std::string flag = std::string(argv[at]).substr(0, std::string(argv[at]).find('='));
    if (flag.substr(0, 2) == "--" && std::find(flags.begin(), flags.end(), flag) == flags.end()) {
      return fmt::format("{} has no flag {}{} (see limen {} --help)", first, flag, guess(nearest_name(flag, flags)),
                         first);
    }
  }
  return fmt::format("{} (see limen {} --help)", limen::cli::one_line(error.what()), first);
}

int run(int argc, char** argv) {
  using namespace limen::cli;
  CLI::App program(
      "limen turns a classifier's score and uncertainty into a decision: the highest recall a\n"
      "precision bound allows, one score threshold per uncertainty level, proved optimal.",
      "limen");
  program.set_version_flag("--version", std::string("limen ") + limen::kLimenVersion);
  program.set_help_all_flag("--help-all", "Print the help of all verbs and exit");
  program.require_subcommand(1);
  program.get_formatter()->column_width(34);
  program.footer("Example: limen simulate -o demo && limen fit demo/holdout.csv --precision 0.7 -o b.json");

  Action action;
  add_simulate(program, action);
  add_evidence(program, action);
  add_inspect(program, action);
  add_fit(program, action);
  add_apply(program, action);
  add_export(program, action);
  add_evaluate(program, action);
  add_compare(program, action);
  add_frontier(program, action);
  add_swaps(program, action);
  add_sweep(program, action);
  add_sql(program, action);
  add_plan(program, action);
  add_monitor(program, action);
  add_calibrate(program, action);
  add_bias(program, action);
  add_report(program, action);
  add_train(program, action);
  add_predict(program, action);
  add_experiment(program, action);
  for (CLI::App* verb : program.get_subcommands({})) verb->get_formatter()->column_width(34);

  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return program.exit(success);  // --help, --version
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "limen: {}\n", usage_error(program, argc, argv, error));
    return kBadInput;
  }
  try {
    const int code = action();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw limen::IoError(limen::IoError::Access::kWrite, "<stdout>",
                           std::string("cannot be written: ") + std::strerror(errno));
    }
    return code;
  } catch (const limen::InvalidInput& error) {
    const CLI::App& verb = *program.get_subcommands().front();
    fmt::print(stderr, "limen: {}\n", one_line(error.what() + hint(error, verb)));
    return kBadInput;
  } catch (const limen::IoError& error) {
    fmt::print(stderr, "limen: {}\n", one_line(error.what()));
    return error.access() == limen::IoError::Access::kRead ? kBadInput : kFailed;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "limen: out of memory; use fewer rows or fewer bins\n");
    return kFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "limen: {}\n", one_line(error.what()));
    return kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
