// SPDX-License-Identifier: MIT
// What every verb with --report does alike.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "limen/report/study.h"
#include "limen/table/output_file.h"
#include "options.h"

namespace limen::cli {

/// --report; what: of which the page is.
void add_report_flag(CLI::App& verb, std::string& path, const std::string& what);

/// open_output for the page; null for no path. Refuses stdout, and the verb's other output.
[[nodiscard]] std::unique_ptr<table::OutputFile> open_report(const std::string& path,
                                                             const std::vector<std::string>& inputs,
                                                             const std::string& output = {});

/// Title, columns, and what was asked for, as a command and flag by flag. Outputs and threads are left out: they change
/// nothing that the report says.
[[nodiscard]] report::StudyOptions study_options(const CLI::App& verb, const TableFlags& table);

/// Puts the page into its place, whole.
void write_report(table::OutputFile& output, const report::Study& study);

}  // namespace limen::cli
