// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace limen::cli {

/// Exit codes of the program.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kInfeasible = 3;

/// What a verb does once its flags are read; returns the exit code.
using Action = std::function<int()>;

// Each adds one verb to the program and leaves in `action` what to do when that verb was asked for.
void add_simulate(CLI::App& program, Action& action);
void add_inspect(CLI::App& program, Action& action);
void add_fit(CLI::App& program, Action& action);
void add_apply(CLI::App& program, Action& action);
void add_export(CLI::App& program, Action& action);
void add_evaluate(CLI::App& program, Action& action);
void add_compare(CLI::App& program, Action& action);
void add_evidence(CLI::App& program, Action& action);
void add_frontier(CLI::App& program, Action& action);
void add_swaps(CLI::App& program, Action& action);
void add_sql(CLI::App& program, Action& action);
void add_sweep(CLI::App& program, Action& action);
void add_plan(CLI::App& program, Action& action);
void add_bias(CLI::App& program, Action& action);
void add_calibrate(CLI::App& program, Action& action);
void add_monitor(CLI::App& program, Action& action);
void add_report(CLI::App& program, Action& action);
void add_experiment(CLI::App& program, Action& action);
void add_train(CLI::App& program, Action& action);
void add_predict(CLI::App& program, Action& action);

}  // namespace limen::cli
