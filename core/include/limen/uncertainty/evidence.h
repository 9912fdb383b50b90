// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "limen/base/frame.h"
#include "limen/base/text_index.h"

// How many training rows stand behind a row: those that agree with it on some key columns.
//
// The keys are in an order. A cell of level k is a combination of values of the first k keys; level 0 has one cell, all
// training rows. A row is looked up in its cell of all keys; where no training row is in it, the last key is dropped,
// then the one before, until a cell with training rows is found. So the keys that matter most stand first.
namespace limen {

struct EvidenceOptions {
  /// Bins of a numeric key, equal in rows; 2 to 65536. A numeric key with at most so many distinct values is not
  /// binned.
  int num_bins = 32;
  /// Training rows that the rate of the next coarser cell counts for in the smoothed rate of a cell; >= 0 and finite.
  /// 0: the plain rate of the cell. The default is the strength of the rule of succession.
  double strength = 2;
  /// 0: all cores. The results do not depend on it.
  int num_threads = 0;
};

void validate(const EvidenceOptions& options);

/// What the values of one key are numbered by, as it can be stored.
struct EvidenceKeyValues {
  std::string name = {};
  bool is_number = false;
  bool is_binned = false;               ///< of numbers only
  std::vector<double> cuts = {};        ///< of numbers: lower edges of the bins but the first, or the distinct values
  std::vector<std::string> texts = {};  ///< of text: the values, in the order of their numbers
};

/// What the values of each key are numbered by: texts as they are; numbers by their value when few are distinct, else
/// by quantile bins. Missing values are a value of their own.
///
/// Texts are numbered as they come, numbers from a first pass over the training rows: quantiles of a uniform sample of
/// 200,000 rows, chosen by a hash of their number, so that batches and threads have no bearing on it; exact with fewer
/// rows.
class EvidenceKeys {
 public:
  /// Keys at most: the sample of rows takes up to 3 MB for each.
  static constexpr std::size_t kMostKeys = 256;

  /// The keys are the columns of `frame`, by name and kind; its rows are not used.
  EvidenceKeys(const Frame& frame, const EvidenceOptions& options);
  /// Fitted keys as values() gave them; there may be none. Throws InvalidInput unless cuts are finite and ascending and
  /// texts differ.
  [[nodiscard]] static EvidenceKeys from_values(std::vector<EvidenceKeyValues> keys, const EvidenceOptions& options);

  /// Whether some key is numeric, so that a pass of fit() over all training rows is needed before counting.
  [[nodiscard]] bool needs_fit() const;
  [[nodiscard]] bool is_fitted() const { return is_fitted_; }
  /// The next training rows. weight: empty, or one for each row; rows of weight 0 do not count.
  void fit(const Frame& frame, std::span<const double> weight = {});
  /// Ends the first pass: sets the bins.
  void finish_fit();

  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] const std::string& name(std::size_t key) const { return keys_[key].name; }
  /// Lower edges of the bins of a numeric key but the first, or its distinct values; empty for text.
  [[nodiscard]] std::span<const double> cuts(std::size_t key) const { return keys_[key].cuts; }
  [[nodiscard]] bool is_number(std::size_t key) const { return keys_[key].is_number; }
  [[nodiscard]] bool is_binned(std::size_t key) const { return keys_[key].is_binned; }
  /// The same with the texts, for storing.
  [[nodiscard]] EvidenceKeyValues values(std::size_t key) const;
  /// Some of the keys, with the same numbers for their values. Of fitted keys.
  [[nodiscard]] EvidenceKeys only(std::span<const std::size_t> keys) const;

  /// Codes row by row, one for each key; kUnseen for what training did not have. Throws InvalidInput when the columns
  /// are not the keys.
  static constexpr std::uint32_t kUnseen = 0xFFFFFFFF;
  [[nodiscard]] std::vector<std::uint32_t> codes(const Frame& frame) const;
  /// The same, with new numbers for new texts.
  [[nodiscard]] std::vector<std::uint32_t> add_codes(const Frame& frame);
  /// Takes over the texts of other keys. Per key: the own code of each of theirs; empty when codes are the same. Throws
  /// InvalidInput when names or bins differ.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> merge(const EvidenceKeys& other);

 private:
  struct Key {
    std::string name;
    bool is_number = false;
    bool is_binned = false;
    std::vector<double> cuts;  // ascending
    TextIndex texts;
    bool has_many = false;  // in the first pass: more than num_bins distinct values; else they are in `cuts`
  };
  explicit EvidenceKeys(const EvidenceOptions& options) : options_(options) {}
  void check(const Frame& frame) const;
  [[nodiscard]] std::vector<std::uint32_t> codes_with(const Frame& frame,
                                                      const std::vector<std::vector<std::uint32_t>>& text_code) const;
  void shrink_sample();

  EvidenceOptions options_;
  std::vector<Key> keys_;
  bool is_fitted_ = false;
  std::uint64_t rows_fitted_ = 0;
  // The rows of the smallest hashes, and perhaps some more.
  std::vector<std::uint64_t> sample_hash_;
  std::vector<double> sample_values_;        // keys_.size() for each of them, those of text keys unused
  std::uint64_t sample_limit_ = UINT64_MAX;  // hashes above it are not among the smallest
};

/// What stands behind each row of a batch.
struct EvidenceRows {
  std::vector<double> count = {};            ///< training rows (or their weight) in the finest cell that has any
  std::vector<double> positives = {};        ///< of them
  std::vector<double> rate = {};             ///< smoothed rate of positives
  std::vector<double> uncertainty = {};      ///< see evidence_uncertainty()
  std::vector<std::int32_t> keys_used = {};  ///< level of that cell
};

/// Larger is less certain: -log(1 + count) for a row whose cell of all keys has training rows; d - count / (1 + count),
/// which lies in (d - 1, d], for one that needs d keys dropped. So any row whose own cell is empty is less certain than
/// any whose is not, and the more keys must be dropped the less certain.
[[nodiscard]] double evidence_uncertainty(double count, std::size_t keys_dropped);

namespace detail {
class EvidenceLevel;
}
class Evidence;

/// The training rows, counted.
///
///   EvidenceKeys keys(frame, options);  keys.fit(...) over all rows;  keys.finish_fit();
///   EvidenceCounter counter(std::move(keys), options);  counter.add(...) over all rows;
///   const Evidence evidence = std::move(counter).finish();  evidence.query(...)
class EvidenceCounter {
 public:
  /// Keys at most: each is a level of cells of its own.
  static constexpr std::size_t kMostKeys = 32;

  EvidenceCounter(EvidenceKeys keys, const EvidenceOptions& options);

  /// label: empty (no positives) or 0/1 for each row; weight: empty (each row counts once) or one >= 0 for each row;
  /// rows of weight 0 leave no trace. The sums do not depend on how rows are split into calls, nor on threads.
  /// Throws InvalidInput.
  void add(const Frame& frame, std::span<const std::uint8_t> label = {}, std::span<const double> weight = {});

  EvidenceCounter(const EvidenceCounter&) = delete;
  EvidenceCounter& operator=(const EvidenceCounter&) = delete;

  /// Adds the rows of a counter whose keys have the same names and the same bins.
  void merge(const EvidenceCounter& other);

  /// Counts the coarser cells too. Throws InvalidInput when no row was added.
  [[nodiscard]] Evidence finish() &&;

 private:
  EvidenceOptions options_;
  EvidenceKeys keys_;
  std::shared_ptr<detail::EvidenceLevel> cells_;  // those of all keys
};

/// Counts of training rows, ready to be asked. Memory: about 36 bytes and 4 for each key a cell.
class Evidence {
 public:
  /// Leaves out a row's own part, for data that was counted itself: its label, or none when that does not matter, and
  /// its weight (0 when it was not counted).
  struct Own {
    std::span<const std::uint8_t> label = {};
    std::span<const double> weight = {};
  };

  /// Smoothed rate of a cell: (positives + strength * rate of the next coarser cell) / (count + strength); that of all
  /// rows is positives / count. `own`: each row is left out of all its cells before it is looked up; with nothing left
  /// at all, count and rate are 0. Throws InvalidInput when the columns are not the keys.
  [[nodiscard]] EvidenceRows query(const Frame& frame) const;
  [[nodiscard]] EvidenceRows query(const Frame& frame, const Own& own) const;

  [[nodiscard]] double num_rows() const;        ///< training rows, or their weight
  [[nodiscard]] double num_positives() const;   ///< of them
  [[nodiscard]] std::size_t num_cells() const;  ///< of all keys
  [[nodiscard]] const EvidenceKeys& keys() const { return keys_; }

 private:
  friend class EvidenceCounter;
  Evidence(EvidenceKeys keys, const EvidenceOptions& options,
           std::vector<std::shared_ptr<const detail::EvidenceLevel>> levels);
  [[nodiscard]] EvidenceRows query_with(const Frame& frame, const Own* own) const;

  EvidenceOptions options_;
  EvidenceKeys keys_;
  std::vector<std::shared_ptr<const detail::EvidenceLevel>> levels_;  // by the number of keys, from 0
};

}  // namespace limen
