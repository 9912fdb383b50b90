// SPDX-License-Identifier: MIT
#include "report_page.h"

#include <fmt/format.h>

#include <string_view>

#include "flags.h"
#include "limen/report/render.h"

namespace limen::cli {
namespace {

bool is_shown(const CLI::Option& option) {
  const std::string name = option.get_name();
  return option.count() > 0 && name != "--output" && name != "--report" && name != "--threads" && name != "--json" &&
         name != "--help" && name != "--state";
}

/// As a shell takes it.
std::string word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,=:+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

}  // namespace

void add_report_flag(CLI::App& verb, std::string& path, const std::string& what) {
  FlagGroup(verb).add("--report", path, "FILE", "Also write a report here, one HTML page " + what);
}

std::unique_ptr<table::OutputFile> open_report(const std::string& path, const std::vector<std::string>& inputs,
                                               const std::string& output) {
  if (path == "-") throw InvalidInput("--report", "is a file, not stdout");
  if (!path.empty() && path == output) throw InvalidInput("--report", "is the other output too; choose another file");
  return open_output(path, inputs);
}

report::StudyOptions study_options(const CLI::App& verb, const TableFlags& table) {
  report::StudyOptions options;
  const table::PredictionColumns& columns = table.read.columns;
  options.columns = {columns.score, columns.uncertainty, columns.label, columns.weight};
  options.command = "limen " + verb.get_name();
  std::string flags;
  for (const CLI::Option* option : verb.get_options()) {
    if (!is_shown(*option)) continue;
    const bool is_flag = option->get_expected_max() == 0;
    std::vector<std::string> words;
    for (const std::string& text : option->results()) words.push_back(word(text));
    if (option->get_positional()) {
      options.command += " " + fmt::format("{}", fmt::join(words, " "));
    } else if (is_flag) {
      flags += " " + option->get_name();
    } else if (option->get_delimiter() != '\0') {
      flags += fmt::format(" {} {}", option->get_name(), fmt::join(words, ","));
    } else {
      for (const std::string& text : words) flags += fmt::format(" {} {}", option->get_name(), text);
    }
    options.settings.push_back(
        {option->get_name(), is_flag ? "yes" : fmt::format("{}", fmt::join(option->results(), ", "))});
  }
  options.command += flags;
  return options;
}

void write_report(table::OutputFile& output, const report::Study& study) {
  output.write(report::render_report(report::study_json(study)));
  output.commit();
}

}  // namespace limen::cli
