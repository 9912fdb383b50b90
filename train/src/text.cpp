// SPDX-License-Identifier: MIT
#include "detail/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "limen/base/nearest_name.h"

namespace limen::train::detail {

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = "\"" + std::string(text.substr(0, kLongest));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
  return result + (text.size() > kLongest ? "...\"" : "\"");
}

std::string number_text(double value) {
  char buffer[32];
  char* const end = buffer + sizeof buffer;
  if (value == std::floor(value) && std::abs(value) < 0x1p53) {
    return {buffer, std::to_chars(buffer, end, static_cast<std::int64_t>(value)).ptr};
  }
  return {buffer, std::to_chars(buffer, end, value).ptr};
}

std::string count_text(double count) {
  std::string text = number_text(std::round(count));
  if (text.find('e') != text.npos) return text;
  for (std::size_t at = text.size(); at > 3; text.insert(at, 1, ',')) at -= 3;
  return text;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || text.empty() || error == std::errc::invalid_argument) return std::nullopt;
  // from_chars leaves the value alone when it is out of range: beyond the largest it is infinite, near zero it is 0.
  if (error == std::errc::result_out_of_range) {
    const bool tiny = text.find("e-") != text.npos || text.find("E-") != text.npos || text.front() == '0' ||
                      text.substr(0, 2) == "-0" || text.front() == '.' || text.substr(0, 2) == "-.";
    return tiny ? 0 : HUGE_VAL;
  }
  return value;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "; did you mean " + quoted(nearest) + "?";
}

}  // namespace limen::train::detail
