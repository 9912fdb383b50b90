// SPDX-License-Identifier: MIT
//
// A decision is one comparison: the score with the threshold that a CASE over uncertainty (and segments) finds. Around
// it stands a guard that leaves NULL where `decide` would refuse the row:
//
//     CASE WHEN s BETWEEN -max AND max AND u BETWEEN -max AND max
//          THEN CASE WHEN s >= CASE WHEN u < e0 THEN t0 ... ELSE tK END THEN 1 ELSE 0 END END
//
// A number is finite iff it lies between the least and the greatest double. That is so whether an engine takes NaN for
// the largest number (PostgreSQL, DuckDB, Spark, Snowflake) or for one that no comparison holds of (BigQuery, Trino),
// and it is NULL for NULL. Behind the guard "u < edge" and "edge <= u" are opposites. An unset threshold is a NULL, at
// or above which no score is.

#include "limen/deploy/sql.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <span>

#include "count/sql_words.h"
#include "deploy/checks.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/base/version.h"
#include "limen/solve/segments.h"

namespace limen {
namespace {

constexpr const char* kFunction = "to_sql";

constexpr std::array<std::string_view, 5> kParts = {"decision", "level", "reason", "review", "query"};

std::string line(int depth) { return "\n" + std::string(static_cast<std::size_t>(2 * depth), ' '); }

/// The expressions of one boundary.
class Expressions {
 public:
  Expressions(const Boundary& boundary, const SqlOptions& options)
      : boundary_(boundary), words_(options.dialect, kFunction) {
    score_ = words_.as_number(words_.name(options.score.value_or(boundary.score_column), "the score column"));
    if (detail::looks_at_uncertainty(boundary)) {
      uncertainty_ = words_.as_number(
          words_.name(options.uncertainty.value_or(boundary.uncertainty_column), "the uncertainty column"));
    }
    if (boundary.segments) {
      segment_name_ = words_.name(options.segment.value_or(boundary.segments->column), "the segment column");
      segment_ = words_.as_text(segment_name_);
    } else if (options.segment) {
      throw InvalidInput(kFunction, "a segment column is given, but the boundary has no segments");
    }
  }

  [[nodiscard]] std::string decision(int depth) const {
    return guarded(true, depth, [&](int inner) {
      return "CASE WHEN " + score_ + " >= " + threshold(false, inner + 1) + " THEN 1 ELSE 0 END";
    });
  }

  [[nodiscard]] std::string review(int depth) const {
    if (!boundary_.review) throw InvalidInput(kFunction, "the boundary has no review");
    return guarded(true, depth, [&](int inner) {
      return "CASE" + line(inner + 1) + "WHEN " + score_ + " >= " + threshold(false, inner + 2) + " THEN 0" +
             line(inner + 1) + "WHEN " + score_ + " >= " + threshold(true, inner + 2) + " THEN 1" + line(inner + 1) +
             "ELSE 0" + line(inner) + "END";
    });
  }

  [[nodiscard]] std::string level(int depth) const {
    return guarded(false, depth, [&](int inner) {
      return by_cell([](const Segment*, const Rule& rule, std::size_t level,
                        int) { return rule.score_thresholds.empty() ? "-1" : std::to_string(level); },
                     inner);
    });
  }

  [[nodiscard]] std::string reason(int depth) const {
    return guarded(true, depth, [&](int inner) {
      return by_cell(
          [&](const Segment* segment, const Rule& rule, std::size_t level, int) {
            if (rule.score_thresholds.empty()) return words_.text("segment never seen: never flagged");
            std::string where = "level " + std::to_string(level) + ": ";
            if (segment != nullptr) {
              where = (segment->value.empty() ? "rare segments, " : "segment " + segment->value + ", ") + where;
            }
            const auto& threshold = rule.score_thresholds[level];
            if (!threshold) return words_.text(where + "never flagged");
            return "CASE WHEN " + score_ + " >= " + words_.number(*threshold) + " THEN " +
                   words_.text(where + "score >= " + number_text(*threshold)) + " ELSE " +
                   words_.text(where + "score < " + number_text(*threshold)) + " END";
          },
          inner);
    });
  }

 private:
  /// What to write for a level of a rule. segment: null without segments. The rule of values that were never seen and
  /// are never flagged has no threshold at all.
  using Leaf = std::function<std::string(const Segment*, const Rule&, std::size_t level, int depth)>;

  std::string guarded(bool with_score, int depth, const std::function<std::string(int)>& expression) const {
    std::string guard;
    const auto add = [&](const std::string& condition) {
      guard += (guard.empty() ? "CASE WHEN " : line(depth) + " AND ") + condition;
    };
    if (with_score) add(words_.is_finite(score_));
    if (!uncertainty_.empty()) add(words_.is_finite(uncertainty_));
    if (!segment_.empty()) add(segment_name_ + " IS NOT NULL");
    return guard + line(depth) + "THEN " + expression(depth + 1) + line(depth) + "END";
  }

  std::string threshold(bool of_review, int depth) const {
    return by_cell(
        [&](const Segment*, const Rule& rule, std::size_t level, int) {
          const auto& thresholds = of_review ? boundary_.review->score_thresholds : rule.score_thresholds;
          const bool never = thresholds.empty() || !thresholds[level];
          return never ? words_.no_number() : words_.number(*thresholds[level]);
        },
        depth);
  }

  std::string by_cell(const Leaf& leaf, int depth) const {
    if (!boundary_.segments) return by_level(nullptr, boundary_.rule, leaf, depth);
    const Segments& segments = *boundary_.segments;
    std::string text = "CASE";
    for (const Segment& segment : segments.own) {
      text += line(depth) + "WHEN " + segment_ + " = " + words_.text(segment.value) + " THEN " +
              by_level(&segment, segment.rule, leaf, depth + 1);
    }
    if (segments.pooled && !segments.unseen_as_pooled) {
      std::string values;
      for (const std::string& value : segments.pooled_values) {
        values += (values.empty() ? "" : ", ") + words_.text(value);
      }
      text += line(depth) + "WHEN " + segment_ + " IN (" + values + ") THEN " +
              by_level(&*segments.pooled, segments.pooled->rule, leaf, depth + 1);
    }
    const Rule never;
    const std::string others = segments.unseen_as_pooled
                                   ? by_level(&*segments.pooled, segments.pooled->rule, leaf, depth + 1)
                                   : leaf(nullptr, never, 0, depth + 1);
    if (segments.own.empty() && segments.unseen_as_pooled) return others;  // one rule for all
    return text + line(depth) + "ELSE " + others + line(depth - 1) + "END";
  }

  std::string by_level(const Segment* segment, const Rule& rule, const Leaf& leaf, int depth) const {
    return by_level(segment, rule, 0, rule.uncertainty_edges.size(), leaf, depth);
  }

  /// Levels first to last: one after the other where they are few, else those below a middle edge and the others.
  std::string by_level(const Segment* segment, const Rule& rule, std::size_t first, std::size_t last, const Leaf& leaf,
                       int depth) const {
    constexpr std::size_t kMostInARow = 8;
    if (first == last) return leaf(segment, rule, first, depth);
    const auto below = [&](std::size_t level) {
      return line(depth) + "WHEN " + uncertainty_ + " < " + words_.number(rule.uncertainty_edges[level]) + " THEN ";
    };
    std::string text = "CASE";
    if (last - first < kMostInARow) {
      for (std::size_t level = first; level < last; ++level) {
        text += below(level) + leaf(segment, rule, level, depth + 1);
      }
      text += line(depth) + "ELSE " + leaf(segment, rule, last, depth + 1);
    } else {
      const std::size_t middle = first + (last - first) / 2;
      text += below(middle) + by_level(segment, rule, first, middle, leaf, depth + 1);
      text += line(depth) + "ELSE " + by_level(segment, rule, middle + 1, last, leaf, depth + 1);
    }
    return text + line(depth - 1) + "END";
  }

  const Boundary& boundary_;
  detail::SqlWords words_;
  std::string score_;
  std::string uncertainty_;  // empty: not looked at
  std::string segment_name_;
  std::string segment_;  // empty: no segments
};

std::string query(const Boundary& boundary, const Expressions& expressions, const SqlOptions& options) {
  if (options.table.empty()) throw InvalidInput(kFunction, "a query needs the name of a table");
  const detail::SqlWords words(options.dialect, kFunction);
  std::string table;
  for (const std::string& part : options.table) {
    table += (table.empty() ? "" : ".") + words.name(part, "the table's name");
  }
  // No text of the boundary's file may be in a comment.
  std::string text = std::string("-- limen ") + kLimenVersion +
                     ": decision 1 = positive, 0 = not; NULL = a value that is missing, NaN or infinite\n"
                     "SELECT limen_rows.*,\n  " +
                     expressions.decision(1) + " AS decision,\n  " + expressions.level(1) + " AS level,\n  " +
                     expressions.reason(1) + " AS reason";
  if (boundary.review) text += ",\n  " + expressions.review(1) + " AS review";
  return text + "\nFROM " + table + " AS limen_rows";
}

}  // namespace

std::string_view to_string(SqlPart part) { return kParts[static_cast<std::size_t>(part)]; }
SqlPart parse_sql_part(std::string_view name) {
  return static_cast<SqlPart>(detail::place_of(name, kParts, "what is asked for"));
}

std::string to_sql(const Boundary& boundary, const SqlOptions& options) {
  detail::check_exported(boundary, kFunction);
  const Expressions expressions(boundary, options);
  switch (options.part) {
    case SqlPart::kDecision:
      return expressions.decision(0);
    case SqlPart::kLevel:
      return expressions.level(0);
    case SqlPart::kReason:
      return expressions.reason(0);
    case SqlPart::kReview:
      return expressions.review(0);
    case SqlPart::kQuery:
      return query(boundary, expressions, options);
  }
  throw InvalidInput(kFunction, "there is no such part");
}

}  // namespace limen
