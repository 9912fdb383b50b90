// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limen/uncertainty/evidence.h"
#include "options.h"

namespace limen::cli {

/// Flags of `evidence` that only one of its two ways has.
struct EvidenceKeyFlags {
  std::vector<std::string> keys;
  std::string weight;
  std::string rate;       // name of the column, empty: none
  std::string add_label;  // the same
  bool positives = false;
  bool leave_one_out = false;
};
struct EvidenceLawFlags {
  std::vector<std::string> validation;  // empty: DATA
  std::string score = "score";
  std::vector<std::string> drop;
  std::string law_score;  // name of the column, empty: none
};

struct EvidenceFlags {
  std::string train;
  std::vector<std::string> data;
  std::string output;
  std::string output_format;
  std::string prefix;  // of the names of the columns evidence, uncertainty and positives
  bool replace = false;
  std::string label;
  LabelFlags labels;
  double tau = 1;
  std::uint64_t seed = 0;
  EvidenceOptions options;
  ReadFlags read;
  std::vector<std::string> categorical;
  bool json = false;
  EvidenceKeyFlags by_keys;
  EvidenceLawFlags by_law;
};

/// `evidence` without --keys: learns the law of all columns and adds its evidence. kInfeasible, and nothing is written,
/// when the law is silent.
[[nodiscard]] int run_evidence_law(const EvidenceFlags& flags);

}  // namespace limen::cli
