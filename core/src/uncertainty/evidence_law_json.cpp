// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "limen/base/error.h"
#include "limen/base/json.h"
#include "limen/uncertainty/evidence_law.h"
#include "limen/uncertainty/frame_law.h"

namespace limen {
namespace {

using Json = nlohmann::ordered_json;  // members in the order of writing
using ReadJson = nlohmann::json;

constexpr int kVersion = 1;
constexpr const char* kFormat = "limen-evidence-law";
constexpr const char* kFrameFormat = "limen-evidence";  // a law with what its columns are numbered by
constexpr std::size_t kHexDigits = 16;
constexpr std::size_t kMostColumns = 1'000'000;
constexpr std::size_t kMostTerms = 16;
constexpr std::size_t kMostKnots = 1000;
constexpr std::size_t kMostCuts = 65'536;
constexpr std::size_t kMostTexts = 0x7FFFFFFF;

constexpr std::array kStatuses = {EvidenceLawStatus::kActive,       EvidenceLawStatus::kNoRows,
                                  EvidenceLawStatus::kOneClass,     EvidenceLawStatus::kNoVariation,
                                  EvidenceLawStatus::kNothingFound, EvidenceLawStatus::kNotConfirmed};

[[noreturn]] void refuse(const std::string& what) { throw InvalidInput("evidence law", what); }
[[noreturn]] void refuse_damaged(const char* member) { refuse(std::string("is damaged at \"") + member + "\""); }

// 64-bit keys as one text, sixteen digits each: programs read a JSON number as a double, which has 53.
std::string packed(std::span<const std::uint64_t> keys) {
  std::string text;
  text.reserve(kHexDigits * keys.size());
  for (const std::uint64_t key : keys) {
    std::array<char, kHexDigits> digits = {};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), key, 16).ptr;
    text.append(kHexDigits - static_cast<std::size_t>(end - digits.data()), '0').append(digits.data(), end);
  }
  return text;
}

const ReadJson& at(const ReadJson& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) refuse_damaged(key);
  return json.at(key);
}

double number_of(const ReadJson& value, const char* key) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) refuse_damaged(key);
  return value.get<double>();
}

double number_at(const ReadJson& json, const char* key, double least, double most) {
  const double value = number_of(at(json, key), key);
  if (value < least || value > most) refuse_damaged(key);
  return value;
}

std::uint64_t whole_of(const ReadJson& value, const char* key, std::uint64_t least, std::uint64_t most) {
  if (!value.is_number_unsigned()) refuse_damaged(key);
  const auto whole = value.get<std::uint64_t>();
  if (whole < least || whole > most) refuse_damaged(key);
  return whole;
}

const ReadJson& list_at(const ReadJson& json, const char* key, std::size_t most) {
  const ReadJson& list = at(json, key);
  if (!list.is_array() || list.size() > most) refuse_damaged(key);
  return list;
}

std::vector<double> numbers_at(const ReadJson& json, const char* key, std::size_t most) {
  std::vector<double> values;
  for (const ReadJson& value : list_at(json, key, most)) values.push_back(number_of(value, key));
  return values;
}

template <typename Value>
bool increases(const std::vector<Value>& values) {
  return std::ranges::adjacent_find(values, std::ranges::greater_equal()) == values.end();
}

constexpr double kHuge = 1e300;  // what sums and products of these numbers cannot overflow from is not checked here

ScoreCurve curve_at(const ReadJson& parent, const char* key) {
  const ReadJson& json = at(parent, key);
  ScoreCurve curve = {.at = numbers_at(json, "at", kMostKnots),
                      .log_odds = numbers_at(json, "log_odds", kMostKnots),
                      .mean = number_at(json, "mean", -1e6, 1e6),
                      .sd = number_at(json, "sd", 1e-12, 1e6)};
  if (!increases(curve.at)) refuse_damaged("at");
  if (curve.log_odds.size() != curve.at.size() || !std::ranges::is_sorted(curve.log_odds)) refuse_damaged("log_odds");
  const auto is_far = [](double value) { return std::abs(value) > 1e6; };
  if (std::ranges::any_of(curve.at, is_far)) refuse_damaged("at");
  if (std::ranges::any_of(curve.log_odds, is_far)) refuse_damaged("log_odds");
  return curve;
}

EvidenceTerm term_of(const ReadJson& json, std::size_t num_columns) {
  EvidenceTerm term = {.weight = number_at(json, "weight", 0, 1)};
  for (const ReadJson& column : list_at(json, "columns", num_columns)) {
    term.columns.push_back(whole_of(column, "columns", 0, num_columns - 1));
  }
  if (term.columns.empty() || !increases(term.columns)) refuse_damaged("columns");
  if (!(term.weight > 0)) refuse_damaged("weight");
  const ReadJson& keys = at(json, "keys");
  if (!keys.is_string() || keys.get_ref<const std::string&>().size() % kHexDigits != 0) refuse_damaged("keys");
  const std::string& digits = keys.get_ref<const std::string&>();
  for (std::size_t place = 0; place < digits.size(); place += kHexDigits) {
    std::uint64_t key = 0;
    const char* const end = digits.data() + place + kHexDigits;
    const auto read = std::from_chars(digits.data() + place, end, key, 16);
    if (read.ec != std::errc() || read.ptr != end) refuse_damaged("keys");
    term.cells.keys.push_back(key);
  }
  if (term.cells.keys.empty() || !increases(term.cells.keys)) refuse_damaged("keys");
  for (const ReadJson& count : list_at(json, "counts", term.cells.keys.size())) {
    term.cells.counts.push_back(static_cast<std::uint32_t>(whole_of(count, "counts", 1, 0xFFFFFFFF)));
  }
  if (term.cells.counts.size() != term.cells.keys.size()) refuse_damaged("counts");
  return term;
}

EvidenceLawStatus status_at(const ReadJson& json, const char* key) {
  const ReadJson& value = at(json, key);
  for (const EvidenceLawStatus status : kStatuses) {
    if (value.is_string() && value.get_ref<const std::string&>() == to_string(status)) return status;
  }
  refuse_damaged(key);
}

void check_format(const ReadJson& json, const char* format) {
  if (!json.is_object() || !json.contains("format") || json["format"] != format) {
    refuse(std::string("is no law of evidence: \"format\" must be \"") + format + "\"");
  }
  if (const auto version = whole_of(at(json, "version"), "version", 1, UINT64_MAX); version > kVersion) {
    refuse("has version " + std::to_string(version) + ", this program reads up to " + std::to_string(kVersion) +
           "; update limen");
  }
}

Json json_of(const EvidenceLaw& law) {
  Json terms = Json::array();
  for (const EvidenceTerm& term : law.terms) {
    terms.push_back({{"columns", term.columns},
                     {"weight", term.weight},
                     {"keys", packed(term.cells.keys)},
                     {"counts", term.cells.counts}});
  }
  return {{"format", kFormat},
          {"version", kVersion},
          {"status", to_string(law.status)},
          {"num_columns", law.num_columns},
          {"cap", law.cap},
          {"num_candidates", law.num_candidates},
          {"chi_square", law.chi_square},
          {"p_value", law.p_value},
          {"gain", law.gain},
          {"gain_z", law.gain_z},
          {"curve",
           {{"at", law.curve.at}, {"log_odds", law.curve.log_odds}, {"mean", law.curve.mean}, {"sd", law.curve.sd}}},
          {"coefficients", law.coefficients},
          {"evidence_mean", law.evidence_mean},
          {"evidence_sd", law.evidence_sd},
          {"crossing", law.crossing ? Json(*law.crossing) : Json(nullptr)},
          {"terms", std::move(terms)}};
}

EvidenceLaw law_of(const ReadJson& json) {
  check_format(json, kFormat);
  EvidenceLaw law = {
      .status = status_at(json, "status"),
      .num_columns = whole_of(at(json, "num_columns"), "num_columns", 0, kMostColumns),
      .cap = static_cast<std::int64_t>(whole_of(at(json, "cap"), "cap", 1, 65'535)),
      .num_candidates = whole_of(at(json, "num_candidates"), "num_candidates", 0, UINT32_MAX),
      .chi_square = number_at(json, "chi_square", 0, kHuge),
      .p_value = number_at(json, "p_value", 0, 1),
      .gain = number_at(json, "gain", -kHuge, kHuge),
      .gain_z = number_at(json, "gain_z", -kHuge, kHuge),
      .curve = curve_at(json, "curve"),
      .evidence_mean = number_at(json, "evidence_mean", 0, 1e6),
      .evidence_sd = number_at(json, "evidence_sd", 1e-12, 1e6),
  };
  const std::vector<double> coefficients = numbers_at(json, "coefficients", law.coefficients.size());
  const auto is_far = [](double value) { return std::abs(value) > 1e6; };
  if (coefficients.size() != law.coefficients.size() || std::ranges::any_of(coefficients, is_far)) {
    refuse_damaged("coefficients");
  }
  std::ranges::copy(coefficients, law.coefficients.begin());
  if (!at(json, "crossing").is_null()) law.crossing = number_at(json, "crossing", 0, 1);
  double total = 0;
  for (const ReadJson& term : list_at(json, "terms", kMostTerms)) {
    if (law.num_columns == 0) refuse_damaged("num_columns");
    law.terms.push_back(term_of(term, law.num_columns));
    total += law.terms.back().weight;
  }
  const bool is_active = law.status == EvidenceLawStatus::kActive;
  if (is_active == law.terms.empty() || (is_active && law.curve.at.empty())) refuse_damaged("terms");
  if (is_active && std::abs(total - 1) > 1e-9) refuse_damaged("weight");
  return law;
}

constexpr const char* kText = "text";
constexpr const char* kBins = "bins";
constexpr const char* kValues = "values";

Json json_of(const EvidenceKeyValues& key) {
  if (!key.is_number) return {{"name", key.name}, {"kind", kText}, {"texts", key.texts}};
  return {{"name", key.name}, {"kind", key.is_binned ? kBins : kValues}, {"cuts", key.cuts}};
}

EvidenceKeyValues key_of(const ReadJson& json) {
  EvidenceKeyValues key;
  const auto text_of = [](const ReadJson& value, const char* member) {
    if (!value.is_string()) refuse_damaged(member);
    return value.get<std::string>();
  };
  key.name = text_of(at(json, "name"), "name");
  const std::string kind = text_of(at(json, "kind"), "kind");
  key.is_number = kind != kText;
  key.is_binned = kind == kBins;
  if (key.is_number && !key.is_binned && kind != kValues) refuse_damaged("kind");
  if (key.is_number) {
    key.cuts = numbers_at(json, "cuts", kMostCuts);
    if (!increases(key.cuts)) refuse_damaged("cuts");
    return key;
  }
  for (const ReadJson& text : list_at(json, "texts", kMostTexts)) key.texts.push_back(text_of(text, "texts"));
  return key;
}

}  // namespace

std::string to_json(const EvidenceLaw& law) { return json_of(law).dump() + "\n"; }

EvidenceLaw evidence_law_from_json(std::string_view text) { return law_of(parse_json(text, "evidence law")); }

std::string to_json(const FrameLaw& law) {
  Json columns = Json::array();
  for (std::size_t key = 0; key < law.keys().size(); ++key) columns.push_back(json_of(law.keys().values(key)));
  const Json json = {
      {"format", kFrameFormat}, {"version", kVersion}, {"columns", std::move(columns)}, {"law", json_of(law.law())}};
  try {
    return json.dump() + "\n";
  } catch (const Json::type_error&) {  // its only cause here
    refuse("a column has text that is not UTF-8, which JSON cannot hold");
  }
}

FrameLaw frame_law_from_json(std::string_view text) {
  const ReadJson json = parse_json(text, "evidence law");
  check_format(json, kFrameFormat);
  std::vector<EvidenceKeyValues> keys;
  std::set<std::string> names;
  for (const ReadJson& column : list_at(json, "columns", EvidenceKeys::kMostKeys)) {
    keys.push_back(key_of(column));
    if (!names.insert(keys.back().name).second) refuse_damaged("name");
  }
  const EvidenceLaw law = law_of(at(json, "law"));
  if (law.num_columns != keys.size()) refuse_damaged("columns");
  FrameLaw result(EvidenceKeys::from_values(std::move(keys), {}), law);
  if (result.law().num_columns != law.num_columns) refuse_damaged("columns");  // one that no term has
  return result;
}

}  // namespace limen
