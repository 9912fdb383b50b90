// SPDX-License-Identifier: MIT
#include "limen/base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/refusal.h"

namespace limen {
namespace {

using test::refusal_of;

std::string refusal(const std::string& text, const JsonLimits& limits = {}) {
  return refusal_of([&] { (void)parse_json(text, "a.json", limits); });
}

TEST(ParseJson, ReadsWhatIsSound) {
  EXPECT_EQ(parse_json(R"({"a": [1, {"b": null}], "b": {"a": 2}})", "a.json"),
            nlohmann::json::parse(R"({"b": {"a": 2}, "a": [1, {"b": null}]})"));
  EXPECT_EQ(parse_json("3", "a.json"), 3);
  // The same key in two objects of a list, and in an object inside another.
  EXPECT_EQ(parse_json(R"([{"a": 1}, {"a": 2}, {"b": {"a": 3}, "a": 4}])", "a.json").size(), 3U);
}

TEST(ParseJson, RefusesWhatIsDamaged) {
  for (const char* text : {"", "{", "[1,", "{\"a\": }", "nul", "{} {}", "[1] x", "{\"a\": 1,}"}) {
    EXPECT_EQ(refusal(text), "a.json: is not a JSON file, or a damaged one") << text;
  }
}

// Of two values of one key, one program takes the first and another the last: a file that says different things to
// different readers was accepted.
TEST(ParseJson, RefusesAKeyThatIsThereTwice) {
  EXPECT_EQ(refusal(R"({"a": 1, "b": 2, "a": 1})"), "a.json: has the key \"a\" twice in one object");
  EXPECT_EQ(refusal(R"([{"x": {"b": 1, "c": [], "b": {}}}])"), "a.json: has the key \"b\" twice in one object");
  EXPECT_EQ(refusal(R"({"a": 1, "\u0061": 2})"), "a.json: has the key \"a\" twice in one object");
  EXPECT_EQ(refusal("{\"\\u001b[2J\": 1, \"\\u001b[2J\": 2}"), "a.json: has the key \"\\x1b[2J\" twice in one object");
}

TEST(ParseJson, KeepsItsLimits) {
  const auto nested = [](int depth) {
    const auto count = static_cast<std::size_t>(depth);
    return std::string(count, '[') + std::string(count, ']');
  };
  const std::string too_deep = "a.json: is nested too deeply, it is damaged";
  EXPECT_EQ(refusal(nested(100)), "(not refused)");
  EXPECT_EQ(refusal(nested(101)), too_deep);
  EXPECT_EQ(refusal(std::string(1'000'000, '[')), too_deep);
  EXPECT_EQ(refusal(R"({"a": {"b": []}})", {.depth = 3}), "(not refused)");
  EXPECT_EQ(refusal(R"({"a": {"b": [[]]}})", {.depth = 3}), too_deep);
  EXPECT_EQ(refusal("[1234]", {.bytes = 6}), "(not refused)");
  EXPECT_EQ(refusal("[12345]", {.bytes = 6}), "a.json: has 7 bytes, at most 6 are read");
}

}  // namespace
}  // namespace limen
