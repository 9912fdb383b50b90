// SPDX-License-Identifier: MIT
#include "segments.h"

#include <fmt/format.h>

#include "certified.h"
#include "flags.h"
#include "limen/base/error.h"
#include "text.h"

namespace limen::cli {
namespace {

const Segment& segment_at(const Segments& segments, std::size_t at) {
  return at < segments.own.size() ? segments.own[at] : *segments.pooled;
}

std::size_t num_segments(const Segments& segments) { return segments.own.size() + (segments.pooled ? 1 : 0); }

std::string range_text(const std::vector<double>& edges, std::size_t level) {
  if (edges.empty()) return "all";
  return level == 0              ? fmt::format("< {:.6g}", edges[0])
         : level == edges.size() ? fmt::format(">= {:.6g}", edges[level - 1])
                                 : fmt::format("{:.6g} .. {:.6g}", edges[level - 1], edges[level]);
}

}  // namespace

void add_segment_flags(CLI::App& verb, SegmentFlags& flags) {
  FlagGroup group(verb, "Segments");
  group.add("--segment", flags.column, "COLUMN",
            "A threshold for each value of this column, a category such as the market, inside them for --levels K "
            "uncertainty levels each");
  group.toggle("--each", flags.each, "With --segment: each segment keeps the bound by itself, not all together");
  group.add("--segment-min-rows", flags.min_rows, "N",
            fmt::format("With --segment: values of fewer rows are put together [{}]", SegmentOptions{}.min_rows));
}

SegmentOptions make_segment_options(const SegmentFlags& flags) {
  if (flags.column.empty() && flags.each) throw InvalidInput("--each", "is for segments: give --segment too");
  if (flags.column.empty() && !flags.min_rows.empty()) {
    throw InvalidInput("--segment-min-rows", "is for segments: give --segment too");
  }
  SegmentOptions options;
  options.column = flags.column;
  options.each = flags.each;
  if (!flags.min_rows.empty()) {
    options.min_rows = parse_integer(flags.min_rows, "--segment-min-rows", 1, std::int64_t{1} << 53);
  }
  return options;
}

void add_segment_column_flag(CLI::App& verb, table::PredictionColumns& columns) {
  FlagGroup(verb, "Table")
      .add("--segment", columns.segment, "COLUMN",
           "Column of the segments, for a boundary that has some [as the boundary names it]");
}

void name_columns(const CLI::App& verb, const Boundary& boundary, table::PredictionColumns& columns) {
  if (verb.count("--score") == 0) columns.score = boundary.score_column;
  if (verb.count("--uncertainty") == 0) columns.uncertainty = boundary.uncertainty_column;
  if (!boundary.segments) {
    if (verb.count("--segment") > 0) throw InvalidInput("--segment", "is given, but the boundary has no segments");
    columns.segment.clear();
    return;
  }
  if (verb.count("--segment") == 0) columns.segment = boundary.segments->column;
  if (!uses_uncertainty(*boundary.segments)) columns.uncertainty.clear();
}

std::string segment_name(const Segments& segments, std::size_t at) {
  if (at < segments.own.size()) return one_line(segments.own[at].value);
  return fmt::format("others ({})", plural_text(segments.pooled_values.size(), "rare value"));
}

std::string segment_table(const Segments& segments, const std::vector<Confusion>& cells) {
  const bool levels = uses_uncertainty(segments);
  std::vector<std::vector<std::string>> rows = {{"segment"}};
  if (levels) rows[0].push_back("uncertainty");
  rows[0].insert(rows[0].end(), {"score", "rows", "positives", "flagged", "true pos.", "precision", "recall"});
  std::size_t cell = 0;
  for (std::size_t at = 0; at < num_segments(segments); ++at) {
    const Rule& rule = segment_at(segments, at).rule;
    if (rows.size() > 2 * kMostLevelsShown) {
      rows.push_back({fmt::format("... and {} more", num_segments(segments) - at)});
      break;
    }
    for (std::size_t level = 0; level < rule.score_thresholds.size(); ++level, ++cell) {
      const Confusion& counts = cells[cell];
      const auto& threshold = rule.score_thresholds[level];
      rows.push_back({level == 0 ? segment_name(segments, at) : ""});
      if (levels) rows.back().push_back(range_text(rule.uncertainty_edges, level));
      rows.back().insert(rows.back().end(),
                         {threshold ? fmt::format(">= {:.6g}", *threshold) : "never", count_text(counts.rows),
                          count_text(counts.positives), count_text(counts.flagged), count_text(counts.true_positives),
                          counts.flagged > 0 ? ratio_text(counts.precision()) : "-",
                          counts.positives > 0 ? ratio_text(counts.recall()) : "-"});
    }
  }
  return table_text(rows);
}

std::string segments_text(const Segments& segments) {
  std::string text = fmt::format("{} of {}", plural_text(segments.own.size(), "segment"), one_line(segments.column));
  if (segments.pooled) {
    text += fmt::format(" and a pool of {}", plural_text(segments.pooled_values.size(), "rare value"));
  }
  return text;
}

std::string each_text(const Boundary& boundary) {
  const Segments& segments = *boundary.segments;
  if (!segments.each) return "";
  std::vector<std::string> nothing;
  std::size_t certified = 0;
  bool uncertified = false;
  double confidence = 0;
  for (std::size_t at = 0; at < num_segments(segments); ++at) {
    const Segment& segment = segment_at(segments, at);
    const bool failed = segment.status == SegmentStatus::kInfeasible || segment.status == SegmentStatus::kNotCertified;
    if (failed) nothing.push_back(segment_name(segments, at));
    uncertified |= segment.status == SegmentStatus::kNotCertified;
    if (!segment.guarantee) continue;
    ++certified;
    confidence = segment.guarantee->confidence;
  }
  std::string text;
  if (certified > 0) {
    text += fmt::format(
        "  certified with {:g}% confidence in each of {}, for rows drawn like the hold-out, scored by the same model\n"
        "    that is for each segment alone, not for all at once: for {:g}% of all at once fit with --confidence "
        "{:g}\n",
        100 * confidence, plural_text(certified, "segment"), 100 * confidence,
        1 - (1 - confidence) / static_cast<double>(num_segments(segments)));
  }
  if (!nothing.empty()) {
    constexpr std::size_t kMostNamed = 10;
    const std::size_t size = nothing.size();
    if (size > kMostNamed) nothing.resize(kMostNamed);
    text += fmt::format(
        "  {} of {} {} the bound and flag{} nothing: {}{}\n", size, plural_text(num_segments(segments), "segment"),
        uncertified ? "cannot be certified to keep" : "cannot keep", size == 1 ? "s" : "", fmt::join(nothing, ", "),
        size > kMostNamed ? fmt::format(" and {} more", size - kMostNamed) : "");
  }
  return text;
}

std::string unseen_text(const Segments& segments, std::size_t rows) {
  return fmt::format("{} had values of {} that the hold-out did not have: {}", plural_text(rows, "row"),
                     one_line(segments.column),
                     segments.unseen_as_pooled ? "decided as rare values are" : "never flagged");
}

}  // namespace limen::cli
