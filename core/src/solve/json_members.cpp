// SPDX-License-Identifier: MIT
#include "solve/json_members.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::detail {

namespace {

/// "2/3", both parts whole and positive.
Rational parse_fraction(const std::string& text, const std::string& name) {
  Rational value;
  const char* end = text.data() + text.size();
  const auto num = std::from_chars(text.data(), end, value.num);
  const bool has_slash = num.ec == std::errc() && num.ptr != end && *num.ptr == '/';
  const auto den = has_slash ? std::from_chars(num.ptr + 1, end, value.den) : num;
  constexpr std::int64_t kLimit = 1'000'000'000'000'000'000;
  if (!has_slash || den.ec != std::errc() || den.ptr != end || value.num < 0 || value.den < 1 || value.num > kLimit ||
      value.den > kLimit) {
    refuse("\"" + name + "\" is not a fraction such as 2/3");
  }
  const std::int64_t divisor = std::gcd(value.num, value.den);
  return {value.num / divisor, value.den / divisor};
}

}  // namespace

void refuse(const std::string& what) { throw InvalidInput("boundary", what); }

const ReadJson& member(const ReadJson& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) refuse("\"" + where + key + "\" is missing; the file is damaged");
  return *found;
}

const ReadJson& object_member(const ReadJson& object, const char* key) {
  const ReadJson& value = member(object, key, "");
  if (!value.is_object()) refuse(std::string("\"") + key + "\" is not an object");
  return value;
}

double number(const ReadJson& value, const std::string& name) {
  if (!value.is_number()) refuse("\"" + name + "\" is not a number");
  const auto result = value.get<double>();
  if (!std::isfinite(result)) refuse("\"" + name + "\" is not finite");
  return result;
}

double number_at(const ReadJson& object, const char* key, const std::string& where) {
  return number(member(object, key, where), where + key);
}

std::int64_t integer_at(const ReadJson& object, const char* key, const std::string& where) {
  const ReadJson& value = member(object, key, where);
  const bool too_large =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  if (!value.is_number_integer()) refuse("\"" + where + key + "\" is not a whole number");
  if (too_large) refuse("\"" + where + key + "\" is " + value.dump() + ", which is too large");
  return value.get<std::int64_t>();
}

std::string text_at(const ReadJson& object, const char* key, const std::string& where) {
  const ReadJson& value = member(object, key, where);
  if (!value.is_string()) refuse("\"" + where + key + "\" is not a text");
  return value.get<std::string>();
}

bool flag_at(const ReadJson& object, const char* key, const std::string& where) {
  const ReadJson& value = member(object, key, where);
  if (!value.is_boolean()) refuse("\"" + where + key + "\" is neither true nor false");
  return value.get<bool>();
}

const ReadJson& array_at(const ReadJson& object, const char* key, const std::string& where) {
  const ReadJson& value = member(object, key, where);
  if (!value.is_array()) refuse("\"" + where + key + "\" is not a list");
  return value;
}

Json count(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

const ReadJson* optional_object(const ReadJson& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return nullptr;
  if (!found->is_object()) refuse(std::string("\"") + key + "\" is neither null nor an object");
  return &*found;
}

void put_rational(Json& object, const std::string& key, const Rational& value) {
  object[key] = value.to_double();
  const bool decimal = [&] {
    try {
      return decimal_rational(value.to_double()) == value;
    } catch (const InvalidInput&) {
      return false;
    }
  }();
  if (!decimal) object[key + "_fraction"] = to_string(value);
}

bool agrees(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }

Rational rational_at(const ReadJson& object, const char* key, const std::string& where) {
  const double value = number_at(object, key, where);
  if (value < 0) refuse("\"" + where + key + "\" is negative");
  const std::string fraction = std::string(key) + "_fraction";
  if (!object.contains(fraction)) return decimal_rational(value);
  const Rational exact = parse_fraction(text_at(object, fraction.c_str(), where), where + fraction);
  if (!agrees(exact.to_double(), value, 1e-9 * std::max(1.0, value))) {
    refuse("\"" + where + fraction + "\" is " + to_string(exact) + ", but \"" + where + key + "\" is " +
           number_text(value));
  }
  return exact;
}

}  // namespace limen::detail
