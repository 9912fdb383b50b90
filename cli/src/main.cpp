// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include <exception>

#include "limen/error.h"
#include "limen/version.h"
#include "text.h"
#include "verbs.h"

namespace {

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
  add_fit(program, action);
  add_apply(program, action);
  add_evaluate(program, action);
  add_compare(program, action);
  add_frontier(program, action);
  for (CLI::App* verb : program.get_subcommands({})) verb->get_formatter()->column_width(34);

  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return program.exit(success);  // --help, --version
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "limen: {} (see limen --help)\n", one_line(error.what()));
    return kBadInput;
  }
  try {
    return action();
  } catch (const limen::InvalidInput& error) {
    fmt::print(stderr, "limen: {}\n", one_line(error.what()));
    return kBadInput;
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
