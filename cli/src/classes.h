// SPDX-License-Identifier: MIT
// Several classes with their own promises: what `fit`, `apply` and `evaluate` do with them.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "limen/fit/classes.h"
#include "options.h"

namespace limen::cli {

struct ClassFlags {
  std::string precision;    ///< "cat=0.9,dog=0.8"; empty: one class, and its own objective
  std::string score;        ///< "cat=score_cat"; others are score_NAME
  std::string uncertainty;  ///< "cat=u_cat", "none"; others are the table's uncertainty, if it has one
  std::string claims = "one";
  bool joint = false;
};
void add_class_flags(CLI::App& verb, ClassFlags& flags);
/// Throws InvalidInput when flags of classes are given without their promises.
[[nodiscard]] bool is_given(const ClassFlags& flags);

/// Where rows come from and results go.
struct ClassFiles {
  std::vector<std::string> inputs;
  std::string output;
  bool json = false;
};

// Each returns the exit code.
int fit_class_table(const ClassFiles& files, const ClassFlags& flags, const TableFlags& table,
                    const ClassFitOptions& options, const CLI::App& verb);
int apply_classes(const ClassBoundaries& classes, const ClassFiles& files, std::optional<table::Format> output_format,
                  const TableFlags& table, const CLI::App& verb);
int evaluate_class_table(const ClassBoundaries& classes, const std::string& path, const std::string& test,
                         const TableFlags& table, double confidence, bool json, const CLI::App& verb);

}  // namespace limen::cli
