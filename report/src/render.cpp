// SPDX-License-Identifier: MIT
#include "limen/report/render.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "limen/base/error.h"
#include "limen/base/json.h"
#include "page.h"
#include "svg.h"

namespace limen::report {
namespace {

constexpr const char* kFunction = "render_report";
constexpr std::string_view kTitleMark = "@LIMEN_TITLE@";
constexpr std::string_view kStudyMark = "@LIMEN_STUDY@";

/// JSON inside a script element. The characters that are escaped occur only in strings, where an escape means the same.
std::string escape_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size(); ++at) {
    const std::string_view separator = json.substr(at, 3);
    if (separator == "\xE2\x80\xA8" || separator == "\xE2\x80\xA9") {
      out += separator.back() == '\xA8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else if (json[at] == '<') {
      out += "\\u003c";
    } else if (json[at] == '>') {
      out += "\\u003e";
    } else if (json[at] == '&') {
      out += "\\u0026";
    } else {
      out += json[at];
    }
  }
  return out;
}

std::string title_of(std::string_view study_json) {
  const nlohmann::json study = parse_json(study_json, kFunction);
  const auto is = [&study](const char* key, const nlohmann::json& value) {
    return study.is_object() && study.contains(key) && study[key] == value;
  };
  if (!is("format", "limen-study")) {
    throw InvalidInput(kFunction, "the JSON is no study: \"format\" must be \"limen-study\"");
  }
  if (!is("version", 1)) throw InvalidInput(kFunction, "the study's \"version\" must be 1");
  if (!study.contains("title") || !study["title"].is_string()) {
    throw InvalidInput(kFunction, "the study's \"title\" must be a text");
  }
  return study["title"].get<std::string>();
}

}  // namespace

bool has_page() { return !detail::page().empty(); }

std::string render_report(std::string_view study_json) {
  const std::string_view page = detail::page();
  if (page.empty()) {
    throw std::runtime_error(
        "render_report: this build has no report page, as Node.js or web/node_modules was missing: run scripts/setup "
        "and "
        "build again");
  }
  // A byte order mark may stand before JSON in a file, but not in the page.
  if (study_json.starts_with("\xEF\xBB\xBF")) study_json.remove_prefix(3);
  const std::string title = detail::escape_xml(title_of(study_json));
  const std::string study = escape_json(study_json);

  // web/build.mjs has seen to it that each mark is there once, the title's first.
  const std::size_t title_at = page.find(kTitleMark);
  const std::size_t study_at = page.find(kStudyMark);
  std::string out;
  out.reserve(page.size() + title.size() + study.size());
  out += page.substr(0, title_at);
  out += title;
  out += page.substr(title_at + kTitleMark.size(), study_at - title_at - kTitleMark.size());
  out += study;
  out += page.substr(study_at + kStudyMark.size());
  return out;
}

}  // namespace limen::report
