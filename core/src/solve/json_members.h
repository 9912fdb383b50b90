// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "limen/base/rational.h"

/// Members of the JSON objects of a boundary file. Whatever is missing or of the wrong kind is refused by its name:
/// `where` is that of the object, with a point at its end ("holdout."), or empty.
namespace limen::detail {

using Json = nlohmann::ordered_json;  // for writing: members in the order of the documentation
using ReadJson = nlohmann::json;      // for reading: growing an ordered object copies its members, however deep

/// Throws InvalidInput.
[[noreturn]] void refuse(const std::string& what);

const ReadJson& member(const ReadJson& object, const char* key, const std::string& where);
const ReadJson& object_member(const ReadJson& object, const char* key);
/// Null pointer where the member is absent or null.
const ReadJson* optional_object(const ReadJson& json, const char* key);
const ReadJson& array_at(const ReadJson& object, const char* key, const std::string& where);

/// Finite.
double number(const ReadJson& value, const std::string& name);
double number_at(const ReadJson& object, const char* key, const std::string& where);
std::int64_t integer_at(const ReadJson& object, const char* key, const std::string& where);
std::string text_at(const ReadJson& object, const char* key, const std::string& where);
bool flag_at(const ReadJson& object, const char* key, const std::string& where);

/// Counts are whole numbers without weights; writing them so keeps the file readable.
Json count(double value);

/// A number, and beside it the fraction where it is no decimal, such as 2/3.
void put_rational(Json& object, const std::string& key, const Rational& value);
Rational rational_at(const ReadJson& object, const char* key, const std::string& where);

/// Whether two numbers that should be equal are, but for the rounding of a number written in fewer digits.
bool agrees(double a, double b, double tolerance);

}  // namespace limen::detail
