// SPDX-License-Identifier: MIT
//
// Levels of all segments are numbered in a row, the cells. A cell has a threshold; the cell of a row is found by a
// binary search among the values of segments and one among the uncertainty edges of the segment. Cell c of segment s
// has edges[c - s] at its upper end, as each segment has one edge fewer than it has cells.
//
// Constants stand in arrays of double, so that a compiler that computes in higher precision compares with doubles too.

#include "limen/deploy/c_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "deploy/checks.h"
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/base/version.h"
#include "limen/solve/segments.h"

namespace limen {
namespace {

constexpr const char* kFunction = "to_c_header";

// Of C23 and C++23.
constexpr std::string_view kKeywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class "
    "compl "
    "concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default "
    "delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long "
    "main mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq ";

void check_name(const std::string& name) {
  constexpr std::size_t kLongest = 60;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_in_name = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  const bool holds = !name.empty() && name.size() <= kLongest && is_letter(name[0]) &&
                     std::ranges::all_of(name, is_in_name) && name.find("__") == std::string::npos;
  if (!holds) {
    throw InvalidInput(kFunction, "the name is " + quoted(name) +
                                      ", must be letters, digits and single underscores, a letter first, at most 60");
  }
  if (kKeywords.find(" " + name + " ") != std::string_view::npos) {
    throw InvalidInput(kFunction, "the name is " + quoted(name) + ", a word of C or C++");
  }
}

std::string real(double value) {
  const std::string digits = number_text(value);
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}

/// A literal of printable ASCII. Octal escapes of three digits end by themselves; a ? could begin a trigraph.
std::string literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {
      result.append({'\\', c});
    } else if (byte < 0x20 || byte >= 0x7f) {
      const auto digit = [&](unsigned shift) { return static_cast<char>('0' + (byte >> shift & 7U)); };
      result.append({'\\', digit(6), digit(3), digit(0)});
    } else {
      result += c;
    }
  }
  return result + "\"";
}

/// "  static const TYPE NAME[] = {...};", a few entries a line; nothing for no entry, which C does not have.
std::string array(const std::string& type, const std::string& name, const std::vector<std::string>& entries) {
  constexpr std::size_t kWidth = 100;
  if (entries.empty()) return "";
  std::string text = "  static const " + type + name + "[] = {";
  std::size_t begin = 0;
  for (std::size_t at = 0; at < entries.size(); ++at) {
    if (text.size() - begin + entries[at].size() > kWidth) {
      begin = text.size() + 1;
      text += "\n    ";
    }
    text += entries[at] + (at + 1 < entries.size() ? ", " : "");
  }
  return text + "};\n";
}

/// What the functions look at.
struct Tables {
  std::vector<std::string> edges;
  std::vector<std::string> thresholds;
  std::vector<std::string> is_flagged;  ///< by cell: whether it has a threshold
  std::vector<std::string> review_thresholds;
  std::vector<std::string> is_reviewed;
  std::vector<std::string> first_cell;                       ///< of each segment, and behind the last one
  std::vector<std::pair<std::string, std::size_t>> segment;  ///< of each value, by rising values
};

void add_thresholds(const std::vector<std::optional<double>>& from, std::vector<std::string>& thresholds,
                    std::vector<std::string>& is_set) {
  for (const auto& threshold : from) {
    thresholds.push_back(real(threshold.value_or(0)));
    is_set.push_back(threshold ? "1" : "0");
  }
}

Tables make_tables(const Boundary& boundary) {
  Tables tables;
  const auto add = [&](const Rule& rule) {
    tables.first_cell.push_back(std::to_string(tables.thresholds.size()));
    for (const double edge : rule.uncertainty_edges) tables.edges.push_back(real(edge));
    add_thresholds(rule.score_thresholds, tables.thresholds, tables.is_flagged);
  };
  if (!boundary.segments) {
    add(boundary.rule);
    if (boundary.review) {
      add_thresholds(boundary.review->score_thresholds, tables.review_thresholds, tables.is_reviewed);
    }
    return tables;
  }
  const Segments& segments = *boundary.segments;
  for (const Segment& segment : segments.own) {
    tables.segment.emplace_back(segment.value, tables.first_cell.size());
    add(segment.rule);
  }
  if (segments.pooled) {
    if (!segments.unseen_as_pooled) {
      for (const std::string& value : segments.pooled_values) {
        tables.segment.emplace_back(value, tables.first_cell.size());
      }
    }
    add(segments.pooled->rule);
  }
  tables.first_cell.push_back(std::to_string(tables.thresholds.size()));
  std::ranges::sort(tables.segment);
  return tables;
}

/// "double score, double uncertainty, const char* segment" and "score, uncertainty, segment", of those there are.
struct Arguments {
  std::string declared;
  std::string passed;
};

Arguments arguments_of(const Boundary& boundary, bool with_score) {
  Arguments arguments;
  const auto add = [&](const char* type, const char* name) {
    arguments.declared += (arguments.declared.empty() ? "" : ", ") + std::string(type) + name;
    arguments.passed += (arguments.passed.empty() ? "" : ", ") + std::string(name);
  };
  if (with_score) add("double ", "score");
  if (detail::looks_at_uncertainty(boundary)) add("double ", "uncertainty");
  if (boundary.segments) add("const char* ", "segment");
  return arguments;
}

std::string is_not_finite(const std::string& name) {
  return "!(" + name + " >= -1.7976931348623157e+308 && " + name + " <= 1.7976931348623157e+308)";
}

std::string search(const std::string& low, const std::string& high, const std::string& goes_up) {
  return "  low = " + low + ";\n  high = " + high +
         ";\n"
         "  while (low < high) {\n"
         "    const int middle = low + (high - low) / 2;\n"
         "    if (" +
         goes_up +
         ") {\n      low = middle + 1;\n    } else {\n      high = middle;\n    }\n"
         "  }\n";
}

/// NAME_cell: the cell, -1 for a value that was never seen and is never flagged, -2 for what `decide` refuses.
std::string cell_function(const Boundary& boundary, const Tables& tables, const std::string& name) {
  const bool looks = detail::looks_at_uncertainty(boundary);
  const bool has_edges = !tables.edges.empty();
  std::string text = "static inline int " + name + "_cell(" + arguments_of(boundary, false).declared + ") {\n";
  text += array("double ", "edges", tables.edges);
  const bool has_values = !tables.segment.empty();
  if (boundary.segments) {
    std::vector<std::string> values;
    std::vector<std::string> segment;
    for (const auto& [value, at] : tables.segment) {
      values.push_back(literal(value));
      segment.push_back(std::to_string(at));
    }
    text += array("char* const ", "values", values);
    text += array("int ", "segment_of", segment);
    if (has_edges || has_values) text += array("int ", "first_cell", tables.first_cell);
    if (has_edges || has_values) text += "  int at;\n";
  }
  if (has_edges || has_values) text += "  int low, high;\n";
  if (looks) text += "  if (" + is_not_finite("uncertainty") + ") return -2;\n";
  if (!boundary.segments) {
    if (!has_edges) return text + "  return 0;\n}\n\n";
    text += search("0", std::to_string(tables.edges.size()), "edges[middle] <= uncertainty");
    return text + "  return low;\n}\n\n";
  }
  text += "  if (segment == 0) return -2;\n";
  const Segments& segments = *boundary.segments;
  const std::string others = segments.unseen_as_pooled ? std::to_string(segments.own.size()) : "-1";
  if (!has_edges && !has_values) return text + "  return 0;\n}\n\n";  // one threshold for all
  if (has_values) {
    text += search("0", std::to_string(tables.segment.size()), "strcmp(values[middle], segment) < 0");
    text += "  at = low < " + std::to_string(tables.segment.size()) +
            " && strcmp(values[low], segment) == 0 ? segment_of[low] : " + others + ";\n";
    if (!segments.unseen_as_pooled) text += "  if (at < 0) return -1;\n";
  } else {
    text += "  at = " + others + ";\n";
  }
  if (!has_edges) return text + "  return first_cell[at];\n}\n\n";
  text += search("first_cell[at]", "first_cell[at + 1] - 1", "edges[middle - at] <= uncertainty");
  return text + "  return low;\n}\n\n";
}

std::string level_function(const Boundary& boundary, const Tables& tables, const std::string& name) {
  const Arguments arguments = arguments_of(boundary, false);
  std::string text = "/* The uncertainty level, from 0; -1 where there is none. */\nstatic inline int " + name +
                     "_level(" + arguments.declared + ") {\n";
  if (boundary.segments) {
    // The first cell of each cell's segment.
    std::vector<std::string> first;
    for (std::size_t at = 0; at + 1 < tables.first_cell.size(); ++at) {
      first.resize(std::stoul(tables.first_cell[at + 1]), tables.first_cell[at]);
    }
    text += array("int ", "first", first);
  }
  text += "  const int cell = " + name + "_cell(" + arguments.passed + ");\n";
  return text +
         (boundary.segments ? "  return cell < 0 ? -1 : cell - first[cell];\n" : "  return cell < 0 ? -1 : cell;\n") +
         "}\n\n";
}

std::string decision_function(const Boundary& boundary, const Tables& tables, const std::string& name) {
  const Arguments arguments = arguments_of(boundary, true);
  std::string text = "/* 1: positive. 0: not. -1: ";
  text += boundary.segments ? "a number is NaN or infinite, or segment is null. */\n"
                            : "score or uncertainty is NaN or infinite. */\n";
  text += "static inline int " + name + "(" + arguments.declared + ") {\n";
  text += array("double ", "thresholds", tables.thresholds);
  text += array("unsigned char ", "is_flagged", tables.is_flagged);
  text += "  const int cell = " + name + "_cell(" + arguments_of(boundary, false).passed + ");\n";
  text += "  if (cell == -2 || " + is_not_finite("score") + ") return -1;\n";
  return text + "  return " + (boundary.segments ? "cell >= 0 && " : "") +
         "is_flagged[cell] && score >= thresholds[cell];\n}\n\n";
}

std::string review_function(const Boundary& boundary, const Tables& tables, const std::string& name) {
  const Arguments arguments = arguments_of(boundary, true);
  std::string text =
      "/* 1: not positive, but to be looked at by a person. 0: no. -1: as above. */\nstatic inline int " + name +
      "_review(" + arguments.declared + ") {\n";
  text += array("double ", "thresholds", tables.review_thresholds);
  text += array("unsigned char ", "is_reviewed", tables.is_reviewed);
  text += "  const int decision = " + name + "(" + arguments.passed + ");\n  int cell;\n";
  text += "  if (decision != 0) return decision < 0 ? -1 : 0;\n";
  text += "  cell = " + name + "_cell(" + arguments_of(boundary, false).passed + ");\n";
  return text + "  return is_reviewed[cell] && score >= thresholds[cell];\n}\n\n";
}

}  // namespace

std::string to_c_header(const Boundary& boundary, const CHeaderOptions& options) {
  detail::check_exported(boundary, kFunction);
  check_name(options.name);
  const Tables tables = make_tables(boundary);
  // The guard keeps the case of the name: two functions that differ in it are two headers. No text of the boundary's
  // file may be in a comment.
  const std::string guard = "LIMEN_EXPORT_" + options.name;
  std::string text = std::string("/* A decision rule, written by limen ") + kLimenVersion +
                     ". C99 or C++; not for -ffast-math, which takes NaN for a number. */\n#ifndef " + guard +
                     "\n#define " + guard + "\n\n";
  if (!tables.segment.empty()) text += "#include <string.h>\n\n";
  text += cell_function(boundary, tables, options.name);
  text += level_function(boundary, tables, options.name);
  text += decision_function(boundary, tables, options.name);
  if (boundary.review) text += review_function(boundary, tables, options.name);
  return text + "#endif\n";
}

}  // namespace limen
