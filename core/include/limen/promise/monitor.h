// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limen/base/frame.h"
#include "limen/base/real_span.h"
#include "limen/promise/e_process.h"
#include "limen/solve/boundary.h"

namespace limen {

struct MonitorOptions {
  /// Probability, over all time, of calling a promise broken that is kept; above 0 and below 1. The two signs of drift
  /// have the same probability of a false alarm, each.
  double alpha = 0.05;
  /// A promise "holds" when it is certain, but for alpha, that the bound is missed by less than this; above 0 and
  /// below 1. Unset: 0.05, or half of the bound if that is less and not 0.
  std::optional<double> tolerance = std::nullopt;
  /// The largest weight a row can have, above 0. Unset: rows have no weights.
  std::optional<double> max_weight = std::nullopt;
  /// Ids that are remembered: at least half of these many last rows, at most all of them. 2 to 100 million.
  std::int64_t remember = 100'000;

  friend bool operator==(const MonitorOptions&, const MonitorOptions&) = default;
};

/// Throws InvalidInput that names field, value and range.
void validate(const MonitorOptions& options);

/// Rows of deployment in the order of arrival; views of memory that the caller keeps alive.
struct MonitorRows {
  RealSpan score;
  RealSpan uncertainty;
  std::span<const std::uint8_t> label = {};  ///< empty: none is known; 0, 1, or kMissingLabel of label_column.h
  std::span<const double> weight = {};       ///< empty without MonitorOptions::max_weight
  /// Unset, or a value for each row, by which one that comes again is known: a row counts once, its label once.
  const Column* id = nullptr;
  const Column* time = nullptr;  ///< unset, or a value for each row, for messages

  [[nodiscard]] std::size_t size() const { return score.size(); }
};

/// Throws InvalidInput what Monitor::update does, but for values that are not finite and ids that are missing.
void check(const MonitorRows& rows, const MonitorOptions& options);

/// A hash of a table's content and size, over all of its batches: a table that was counted is known by it.
class RowsFingerprint {
 public:
  void add(const MonitorRows& rows);
  [[nodiscard]] std::uint64_t value() const;

 private:
  std::uint64_t hash_ = 0;
  std::uint64_t rows_ = 0;
};

enum class Verdict {
  kHolds,      ///< not broken, and certain to be within the tolerance
  kBroken,     ///< evidence of 1 / alpha or more that the bound is not kept; stays so
  kNotEnough,  ///< neither
};
/// "holds so far", "broken", "not enough yet".
[[nodiscard]] std::string_view to_string(Verdict verdict);

/// A place among the rows that were counted, in the order of arrival.
struct MonitorMoment {
  std::int64_t row = 0;   ///< rows counted up to and with it
  std::string time = {};  ///< of the row, as it was given; empty without

  friend bool operator==(const MonitorMoment&, const MonitorMoment&) = default;
};

/// Whether the shares of some kinds of rows are those of a reference.
struct DriftReport {
  std::int64_t reference_rows = 0;
  bool has_reference = false;  ///< false: the first rows are still being taken as reference
  std::vector<double> reference_shares = {};
  std::int64_t rows = 0;  ///< compared with the reference
  std::vector<double> shares = {};
  double e_value = 1;  ///< the most evidence there was; from 2 / alpha on it is drift

  struct Drift {
    std::size_t kind = 0;        ///< whose share grew most surely
    std::int64_t since_row = 0;  ///< its most likely first row
    double share = 0;            ///< since then, up to now
  };
  std::optional<Drift> drift = std::nullopt;
};

struct MonitorReport {
  Verdict verdict = Verdict::kNotEnough;
  std::string constraint = {};  ///< "precision", "recall", "false-positive rate", "flag rate"
  std::string unit = {};        ///< what is tested: "labelled flagged rows", "labelled positives", ...
  double bound = 0;
  double alpha = 0.05;
  double tolerance = 0.05;

  std::int64_t rows = 0;
  std::int64_t flagged = 0;
  std::int64_t labelled = 0;          ///< rows whose label has come
  std::int64_t labelled_flagged = 0;  ///< of these, flagged
  std::int64_t repeated = 0;          ///< rows that had come before and brought nothing new

  std::int64_t tested = 0;                      ///< rows that bear on the constraint
  std::optional<double> figure = std::nullopt;  ///< the constrained figure of these; unset without any
  double figure_low = 0;  ///< certain at all times, but for alpha: of the mean over the tested rows
  double figure_high = 1;
  double e_value = 1;  ///< the most evidence against the promise there was
  double p_value = 1;  ///< valid at all times
  /// Not enough yet: this many more tested rows, if they just keep the bound, and it holds.
  std::optional<std::int64_t> more_needed = std::nullopt;

  struct Break {
    MonitorMoment noticed = {};
    MonitorMoment since = {};  ///< the most likely first row
    std::int64_t tested = 0;   ///< since then, up to now
    double figure = 0;         ///< of these
    std::optional<double> figure_before = std::nullopt;
  };
  std::optional<Break> broken = std::nullopt;

  /// A bound on recall or the false-positive rate, and labels come for flagged rows more often, or more seldom, than
  /// for others: what is tested are labelled rows, which then are not like all rows.
  bool uneven_labels = false;

  DriftReport flag_rate = {};  ///< kinds: flagged, not flagged
  DriftReport levels = {};     ///< kinds: the levels
};

/// The report as JSON text, as `limen monitor --json` prints it.
[[nodiscard]] std::string to_json(const MonitorReport& report);

namespace detail {

/// Ids of the last rows, and whether their labels have come. A set in two generations: when the newer one is full, the
/// older one is forgotten. Plain memory, so that a copy is cheap.
class IdMemory {
 public:
  struct Known {
    bool row = false;    ///< the row had come before
    bool label = false;  ///< and so had its label
  };

  explicit IdMemory(std::int64_t remember) : most_(static_cast<std::size_t>(remember / 2)) {}

  /// What was known of the id (a hash), which is known from now on.
  Known add(std::uint64_t id, bool with_label);
  [[nodiscard]] std::size_t size() const { return newer_.size + older_.size; }
  /// The ids of a generation in ascending order, the lowest bit being whether the label has come.
  [[nodiscard]] std::vector<std::uint64_t> sorted(bool newer) const;
  void restore(std::span<const std::uint64_t> ids, bool newer);

 private:
  struct Table {
    std::vector<std::uint64_t> slots = {};  ///< a power of two of them; 0: free
    std::size_t size = 0;
  };
  static std::uint64_t* find(Table& table, std::uint64_t id);
  static void insert(Table& table, std::uint64_t id);

  std::size_t most_;
  Table newer_ = {};
  Table older_ = {};
};

/// Compares the shares of kinds of rows with those of a reference, in blocks of rows.
class DriftWatch {
 public:
  static constexpr std::int64_t kBlock = 64;
  /// Without a reference the first rows are taken as such.
  static constexpr std::int64_t kReferenceRows = 10'000;

  struct State {
    std::vector<std::int64_t> reference = {};  ///< rows of each kind
    bool has_reference = false;
    std::int64_t rows_before = 0;           ///< counted before the comparison began
    std::vector<std::int64_t> counts = {};  ///< since then
    std::vector<std::int64_t> block = {};   ///< of these, those of the block that is not full yet
    double largest = 1;                     ///< evidence at the ends of blocks

    /// For each kind: a test that its share has not grown, and how many of it there were before the starts in that.
    std::vector<BreakDetector::State> detectors = {};
    std::vector<std::array<std::int64_t, BreakDetector::kBets>> before = {};
  };

  DriftWatch(std::size_t kinds, double alpha);
  DriftWatch(const State& state, double alpha);

  void set_reference(std::vector<std::int64_t> rows_of_kind);
  void add(std::size_t kind);
  [[nodiscard]] DriftReport report() const;
  [[nodiscard]] State state() const;

 private:
  void end_block();

  State state_;  ///< but for the detectors
  double alpha_;
  std::int64_t block_rows_ = 0;
  std::int64_t reference_rows_ = 0;
  std::vector<BreakDetector> detectors_ = {};
};

}  // namespace detail

/// Watches whether a deployed boundary keeps the bound it was fitted for, from rows whose labels come late or never.
/// Anytime-valid: the report may be looked at after every row, and the promise acted upon, without more false alarms.
///
/// Tested are, for a bound on precision, the flagged rows with a label; on recall the positives; on the false-positive
/// rate the negatives; on the flag rate all rows. The null hypothesis: given what came before, each of them is a bad
/// one (not positive; not flagged; flagged; flagged) with a probability of at most what the bound allows.
class Monitor {
 public:
  /// Throws InvalidInput when the boundary's objective has no constraint, or for bad options.
  explicit Monitor(const Boundary& boundary, const MonitorOptions& options = {});

  /// Rows to compare flag rate and level shares with, in place of the hold-out's flag rate and the first 10,000 rows.
  /// May be called for several batches, before the first update. Throws InvalidInput.
  void add_reference(RealSpan score, RealSpan uncertainty);

  /// Counts the rows; O(rows), whatever was counted before. Throws InvalidInput, and then nothing was counted: a value
  /// that is not finite, unequal lengths, a label that is none, a weight outside 0 to max_weight, an id that is
  /// missing.
  void update(const MonitorRows& rows);

  /// Tables that were counted, by their fingerprints; the last 4096 are remembered.
  [[nodiscard]] bool has_counted(std::uint64_t fingerprint) const;
  void mark_counted(std::uint64_t fingerprint);

  [[nodiscard]] MonitorReport report() const;
  [[nodiscard]] const MonitorOptions& options() const { return options_; }
  [[nodiscard]] bool has_reference_table() const { return has_reference_table_; }
  [[nodiscard]] std::int64_t rows() const { return counts_.rows; }
  [[nodiscard]] std::int64_t labelled() const { return counts_.labelled; }
  [[nodiscard]] std::int64_t positives() const { return counts_.positives; }

  /// Everything to go on later, as JSON text. Its size does not grow with the rows.
  [[nodiscard]] std::string to_json() const;
  /// Reads what to_json writes. Throws InvalidInput: damaged, of a newer version, of another boundary.
  [[nodiscard]] static Monitor from_json(std::string_view text, const Boundary& boundary);

 private:
  struct Counts {
    std::int64_t rows = 0;
    std::int64_t flagged = 0;
    std::int64_t labelled = 0;
    std::int64_t labelled_flagged = 0;
    std::int64_t positives = 0;  ///< among the labelled
    std::int64_t repeated = 0;
  };
  /// A tested row from which on a bet would have won most, and what was tested before it.
  struct Start {
    MonitorMoment at = {};
    WeightedCounts before = {};
  };
  struct Broken {
    MonitorMoment noticed = {};
    Start since = {};
  };
  struct Tested;

  void test(const Tested& tested, const Column* time);
  [[nodiscard]] double figure_of(const WeightedCounts& counts) const;
  [[nodiscard]] bool holds(const WeightedCounts& counts) const;
  [[nodiscard]] std::optional<std::int64_t> more_needed() const;

  Rule rule_;
  Objective objective_;
  std::uint64_t boundary_ = 0;  ///< a hash of rule and objective
  MonitorOptions options_;
  double bad_bound_ = 0;  ///< the rate of bad rows that the bound allows
  double tolerance_ = 0;

  Counts counts_ = {};
  WeightedCounts tested_ = {};
  BreakDetector detector_;
  std::array<Start, BreakDetector::kBets> starts_ = {};
  std::optional<Broken> broken_ = std::nullopt;
  detail::DriftWatch flag_drift_;
  detail::DriftWatch level_drift_;
  bool has_reference_table_ = false;
  detail::IdMemory ids_;
  std::vector<std::uint64_t> counted_ = {};  ///< fingerprints, oldest first
};

}  // namespace limen
