// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limen/base/frame.h"
#include "limen/uncertainty/evidence.h"
#include "limen/uncertainty/evidence_law.h"

// The law of evidence (evidence_law.h) for rows as they stand in a user's table: which columns may be counted by, what
// their values are numbered by (EvidenceKeys), and the law of these numbers.
namespace limen {

/// Columns that no law counts by, whatever they hold. Names that no table has do no harm but in `drop`.
struct EvidenceColumnsOptions {
  std::string label = "label";
  std::string score = "score";
  /// What a law makes, and other measures of the model under the same names.
  std::vector<std::string> made = {"uncertainty", "evidence"};
  /// What the user leaves out; each must be a column of the training table.
  std::vector<std::string> drop = {};
};

/// The names of the columns that a law may count by, in the order of the training table: those that all tables have,
/// but for what the options name. Row numbers are told by their values: see RisingColumns. Throws InvalidInput.
[[nodiscard]] std::vector<std::string> evidence_columns(std::span<const std::string> training,
                                                        std::span<const std::vector<std::string>> others,
                                                        const EvidenceColumnsOptions& options = {});

/// Which columns of numbers rise from each row of the training table to the next: row numbers, counters, keys of a
/// database. What they tell is the order of the table, so that no law counts by them.
class RisingColumns {
 public:
  /// The next rows. All calls have the same columns; those of text never rise.
  void add(const Frame& frame);
  /// Whether each value was above the one before; false with fewer than three rows.
  [[nodiscard]] bool rises(std::size_t column) const { return rows_ > 2 && rises_[column]; }

 private:
  std::vector<double> last_;
  std::vector<bool> rises_;
  std::uint64_t rows_ = 0;
};

/// What a law says of each row.
struct LawEvidence {
  std::vector<double> evidence = {};     ///< n, in rows: >= 1
  std::vector<double> uncertainty = {};  ///< -log n
};

/// A law with the numbering of the columns that its terms have; other columns are not asked for again.
class FrameLaw {
 public:
  /// keys: fitted, of the columns that the law was learnt from. Throws InvalidInput when their numbers differ.
  FrameLaw(const EvidenceKeys& keys, const EvidenceLaw& law);

  [[nodiscard]] const EvidenceLaw& law() const { return law_; }  ///< columns are those of keys()
  [[nodiscard]] const EvidenceKeys& keys() const { return keys_; }
  /// The columns that rows need, none when silent.
  [[nodiscard]] std::vector<std::string> column_names() const;
  /// One or two sentences for people: what the law is, or why it is silent.
  [[nodiscard]] std::string describe() const { return law_.describe(column_names()); }

  /// frame: exactly the columns of column_names(), numbers as numbers and text as text. A silent law gives 1 and 0 for
  /// all rows; who shows them to people must ask is_silent() first. Throws InvalidInput.
  [[nodiscard]] LawEvidence evidence(const Frame& frame) const;
  /// See EvidenceLaw::probability. frame.num_rows counts when silent too. Throws InvalidInput.
  [[nodiscard]] std::vector<double> probability(std::span<const double> score, const Frame& frame) const;

 private:
  [[nodiscard]] CodeRows codes(const Frame& frame) const;

  EvidenceKeys keys_;
  EvidenceLaw law_;
};

struct FrameLawOptions {
  /// Bins of a column of numbers, equal in rows; 2 to 65536. Columns of at most so many distinct numbers are not
  /// binned.
  int num_bins = 32;
  EvidenceLawOptions law = {};
};

struct FrameLawFit {
  FrameLaw law;
  std::vector<std::string> columns = {};  ///< that were looked at
  std::vector<std::string> rising = {};   ///< that were left out: see RisingColumns
};

/// Learns a law from rows in memory.
///
/// training, validation: the same columns, such as evidence_columns() names them, 1 to 256 beside those that rise;
/// numbers finite or NaN (missing). The rest as for fit_evidence_law; with the same rows in batches, EvidenceKeys and
/// fit_evidence_law give the same law. Throws InvalidInput.
[[nodiscard]] FrameLawFit fit_frame_law(const Frame& training, const Frame& validation, std::span<const double> score,
                                        std::span<const std::uint8_t> label, const FrameLawOptions& options = {});

/// The law as JSON text, with its count tables and the values that they are counted by. Throws InvalidInput for text
/// that is not UTF-8.
[[nodiscard]] std::string to_json(const FrameLaw& law);
/// Reads what to_json writes; every member is checked. Throws InvalidInput.
[[nodiscard]] FrameLaw frame_law_from_json(std::string_view text);

}  // namespace limen
