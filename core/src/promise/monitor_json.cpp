// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "limen/base/error.h"
#include "limen/base/json.h"
#include "limen/base/random.h"
#include "limen/promise/monitor.h"

namespace limen {
namespace {

using Json = nlohmann::ordered_json;
using ReadJson = nlohmann::json;

constexpr int kVersion = 1;
constexpr const char* kFormat = "limen-monitor";

[[noreturn]] void refuse(const std::string& what) { throw InvalidInput("monitor state", what); }
[[noreturn]] void refuse_damaged(const std::string& member) {
  refuse("is damaged at \"" + member + "\"; start anew with another one");
}

std::string hex(std::uint64_t word) {
  std::array<char, 16> digits = {};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), word, 16).ptr;
  return std::string(16 - static_cast<std::size_t>(end - digits.data()), '0').append(digits.data(), end);
}

std::uint64_t from_hex(std::string_view text, const std::string& member) {
  std::uint64_t word = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
  if (text.size() != 16 || error != std::errc() || end != text.data() + text.size()) refuse_damaged(member);
  return word;
}

/// 64-bit words as one text, sixteen digits each.
std::string packed(std::span<const std::uint64_t> words) {
  std::string text;
  text.reserve(16 * words.size());
  for (const std::uint64_t word : words) text += hex(word);
  return text;
}

std::vector<std::uint64_t> unpacked(const std::string& text, const std::string& member) {
  if (text.size() % 16 != 0) refuse_damaged(member);
  std::vector<std::uint64_t> words;
  for (std::size_t at = 0; at < text.size(); at += 16) {
    words.push_back(from_hex(std::string_view(text).substr(at, 16), member));
  }
  return words;
}

Json json_of(const BreakDetector::State& state) {
  return {{"rows", state.rows},
          {"largest", state.largest},
          {"wealth", state.wealth},
          {"run", state.run},
          {"run_start", state.run_start}};
}

Json json_of(const WeightedCounts& counts) { return {counts.rows, counts.weight, counts.bad}; }

Json json_of(const MonitorMoment& moment) { return {{"row", moment.row}, {"time", moment.time}}; }

Json json_of(const detail::DriftWatch::State& state) {
  Json detectors = Json::array();
  for (const BreakDetector::State& detector : state.detectors) detectors.push_back(json_of(detector));
  return {{"reference", state.reference},
          {"has_reference", state.has_reference},
          {"rows_before", state.rows_before},
          {"counts", state.counts},
          {"block", state.block},
          {"largest", state.largest},
          {"before", state.before},
          {"detectors", std::move(detectors)}};
}

// The checksum says that the text is what was written; these say that it was written by such a program.
const ReadJson& at(const ReadJson& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) refuse_damaged(key);
  return json.at(key);
}

template <typename Value>
Value get(const ReadJson& json, const char* key) {
  try {
    return at(json, key).get<Value>();
  } catch (const ReadJson::exception&) {
    refuse_damaged(key);
  }
}

std::int64_t count_at(const ReadJson& json, const char* key) {
  const ReadJson& value = at(json, key);
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0) refuse_damaged(key);
  return value.get<std::int64_t>();
}

std::vector<std::int64_t> counts_at(const ReadJson& json, const char* key, std::size_t size) {
  auto counts = get<std::vector<std::int64_t>>(json, key);
  if (counts.size() != size || std::ranges::any_of(counts, [](std::int64_t count) { return count < 0; })) {
    refuse_damaged(key);
  }
  return counts;
}

std::optional<double> optional_at(const ReadJson& json, const char* key) {
  return at(json, key).is_null() ? std::nullopt : std::optional(get<double>(json, key));
}

BreakDetector::State detector_of(const ReadJson& json) {
  BreakDetector::State state;
  state.rows = count_at(json, "rows");
  state.largest = get<double>(json, "largest");
  state.wealth = get<decltype(state.wealth)>(json, "wealth");
  state.run = get<decltype(state.run)>(json, "run");
  state.run_start = get<decltype(state.run_start)>(json, "run_start");
  for (const std::int64_t start : state.run_start) {
    if (start < 0 || start > state.rows) refuse_damaged("run_start");
  }
  return state;
}

WeightedCounts weighted_at(const ReadJson& json, const char* key) {
  const auto values = get<std::array<double, 3>>(json, key);
  return {.rows = values[0], .weight = values[1], .bad = values[2]};
}

MonitorMoment moment_at(const ReadJson& json, const char* key) {
  return {.row = count_at(at(json, key), "row"), .time = get<std::string>(at(json, key), "time")};
}

detail::DriftWatch::State drift_at(const ReadJson& parent, const char* key, std::size_t kinds) {
  const ReadJson& json = at(parent, key);
  detail::DriftWatch::State state;
  state.reference = counts_at(json, "reference", kinds);
  state.has_reference = get<bool>(json, "has_reference");
  state.rows_before = count_at(json, "rows_before");
  state.counts = counts_at(json, "counts", kinds);
  state.block = counts_at(json, "block", kinds);
  state.largest = get<double>(json, "largest");
  state.before = get<decltype(state.before)>(json, "before");
  for (const ReadJson& detector : get<std::vector<ReadJson>>(json, "detectors")) {
    state.detectors.push_back(detector_of(detector));
  }
  const std::size_t tests = state.has_reference ? kinds : 0;
  if (state.before.size() != tests || state.detectors.size() != tests) refuse_damaged(key);
  return state;
}

// The last member is a checksum of the text before it: a state is read by nobody but this program, and a single changed
// byte is noticed.
constexpr std::string_view kChecksum = ",\"checksum\":\"";
constexpr std::string_view kEnd = "\"}\n";

std::string with_checksum(std::string text) {
  text.pop_back();  // the closing brace
  const std::string checksum = hex(text_hash(text));
  return text.append(kChecksum).append(checksum).append(kEnd);
}

bool has_right_checksum(std::string_view text) {
  const std::size_t at = text.rfind(kChecksum);
  if (at == std::string_view::npos || !text.ends_with(kEnd)) return false;
  return text.substr(at + kChecksum.size()) == hex(text_hash(text.substr(0, at))).append(kEnd);
}

Json shown(const MonitorMoment& moment) {
  return {{"row", moment.row}, {"time", moment.time.empty() ? Json(nullptr) : Json(moment.time)}};
}

Json shown(const DriftReport& drift) {
  Json json = {{"has_reference", drift.has_reference},
               {"reference_rows", drift.reference_rows},
               {"reference_shares", drift.reference_shares},
               {"rows", drift.rows},
               {"shares", drift.shares},
               {"e_value", drift.e_value},
               {"drift", nullptr}};
  if (drift.drift) {
    json["drift"] = {{"kind", drift.drift->kind}, {"since_row", drift.drift->since_row}, {"share", drift.drift->share}};
  }
  return json;
}

template <typename Value>
Json shown(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string to_json(const MonitorReport& report) {
  Json json = {{"verdict", to_string(report.verdict)},
               {"constraint", report.constraint},
               {"bound", report.bound},
               {"alpha", report.alpha},
               {"tolerance", report.tolerance},
               {"rows", report.rows},
               {"flagged", report.flagged},
               {"labelled", report.labelled},
               {"labelled_flagged", report.labelled_flagged},
               {"uneven_labels", report.uneven_labels},
               {"repeated", report.repeated},
               {"tested", report.tested},
               {"figure", shown(report.figure)},
               {"figure_low", report.figure_low},
               {"figure_high", report.figure_high},
               {"e_value", report.e_value},
               {"p_value", report.p_value},
               {"more_needed", shown(report.more_needed)},
               {"broken", nullptr},
               {"flag_rate", shown(report.flag_rate)},
               {"levels", shown(report.levels)}};
  if (const auto& broken = report.broken) {
    json["broken"] = {{"since", shown(broken->since)},
                      {"noticed", shown(broken->noticed)},
                      {"tested", broken->tested},
                      {"figure", broken->figure},
                      {"figure_before", shown(broken->figure_before)}};
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string Monitor::to_json() const {
  Json starts = Json::array();
  for (const Start& start : starts_) starts.push_back({{"at", json_of(start.at)}, {"before", json_of(start.before)}});
  Json broken = nullptr;
  if (broken_) {
    broken = {{"noticed", json_of(broken_->noticed)},
              {"since", json_of(broken_->since.at)},
              {"before", json_of(broken_->since.before)}};
  }
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"boundary", hex(boundary_)},
                     {"objective", describe(objective_)},
                     {"options",
                      {{"alpha", options_.alpha},
                       {"tolerance", shown(options_.tolerance)},
                       {"max_weight", shown(options_.max_weight)},
                       {"remember", options_.remember}}},
                     {"rows", counts_.rows},
                     {"flagged", counts_.flagged},
                     {"labelled", counts_.labelled},
                     {"labelled_flagged", counts_.labelled_flagged},
                     {"positives", counts_.positives},
                     {"repeated", counts_.repeated},
                     {"tested", json_of(tested_)},
                     {"test", json_of(detector_.state())},
                     {"starts", std::move(starts)},
                     {"broken", std::move(broken)},
                     {"reference_table", has_reference_table_},
                     {"flag_drift", json_of(flag_drift_.state())},
                     {"level_drift", json_of(level_drift_.state())},
                     {"ids", {{"newer", packed(ids_.sorted(true))}, {"older", packed(ids_.sorted(false))}}},
                     {"tables", packed(counted_)}};
  return with_checksum(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Monitor Monitor::from_json(std::string_view text, const Boundary& boundary) {
  const ReadJson json = parse_json(text, "monitor state");
  if (!json.is_object() || !json.contains("format") || json["format"] != kFormat) {
    refuse("is not a monitor's state: \"format\" must be \"limen-monitor\"");
  }
  if (count_at(json, "version") > kVersion) {
    refuse("has version " + std::to_string(count_at(json, "version")) + ", this program reads up to " +
           std::to_string(kVersion) + "; update limen");
  }
  if (!has_right_checksum(text)) refuse_damaged("checksum");
  const ReadJson& given = at(json, "options");
  const MonitorOptions options = {.alpha = get<double>(given, "alpha"),
                                  .tolerance = optional_at(given, "tolerance"),
                                  .max_weight = optional_at(given, "max_weight"),
                                  .remember = count_at(given, "remember")};
  Monitor monitor(boundary, options);
  if (get<std::string>(json, "boundary") != hex(monitor.boundary_)) {
    refuse("is of another boundary (" + get<std::string>(json, "objective") +
           ") with another rule or objective; a new boundary needs a new state");
  }
  monitor.counts_ = {.rows = count_at(json, "rows"),
                     .flagged = count_at(json, "flagged"),
                     .labelled = count_at(json, "labelled"),
                     .labelled_flagged = count_at(json, "labelled_flagged"),
                     .positives = count_at(json, "positives"),
                     .repeated = count_at(json, "repeated")};
  monitor.tested_ = weighted_at(json, "tested");
  monitor.detector_.restore(detector_of(at(json, "test")));
  const auto starts = get<std::vector<ReadJson>>(json, "starts");
  if (starts.size() != monitor.starts_.size()) refuse_damaged("starts");
  for (std::size_t bet = 0; bet < starts.size(); ++bet) {
    monitor.starts_[bet] = {.at = moment_at(starts[bet], "at"), .before = weighted_at(starts[bet], "before")};
  }
  if (const ReadJson& broken = at(json, "broken"); !broken.is_null()) {
    monitor.broken_ = Broken{.noticed = moment_at(broken, "noticed"),
                             .since = {.at = moment_at(broken, "since"), .before = weighted_at(broken, "before")}};
  }
  monitor.has_reference_table_ = get<bool>(json, "reference_table");
  monitor.flag_drift_ = detail::DriftWatch(drift_at(json, "flag_drift", 2), options.alpha);
  monitor.level_drift_ =
      detail::DriftWatch(drift_at(json, "level_drift", boundary.rule.score_thresholds.size()), options.alpha);
  const ReadJson& ids = at(json, "ids");
  monitor.ids_.restore(unpacked(get<std::string>(ids, "newer"), "ids"), true);
  monitor.ids_.restore(unpacked(get<std::string>(ids, "older"), "ids"), false);
  monitor.counted_ = unpacked(get<std::string>(json, "tables"), "tables");
  return monitor;
}

}  // namespace limen
