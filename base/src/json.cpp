// SPDX-License-Identifier: MIT
#include "limen/base/json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen {

nlohmann::json parse_json(std::string_view text, const std::string& source, const JsonLimits& limits) {
  using Event = nlohmann::json::parse_event_t;
  if (text.size() > limits.bytes) {
    throw InvalidInput(Where{.function = source}, "has " + count_text(static_cast<double>(text.size())) +
                                                      " bytes, at most " +
                                                      count_text(static_cast<double>(limits.bytes)) + " are read");
  }
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, Event event, nlohmann::json& value) {
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= limits.depth) throw InvalidInput(Where{.function = source}, "is nested too deeply, it is damaged");
      if (event == Event::object_start) keys.emplace_back();
    } else if (event == Event::object_end) {
      keys.pop_back();
    } else if (event == Event::key && !keys.back().insert(value.get_ref<const std::string&>()).second) {
      throw InvalidInput(Where{.function = source},
                         "has the key " + limen::quoted(value.get_ref<const std::string&>()) + " twice in one object");
    }
    return true;
  };
  nlohmann::json json = nlohmann::json::parse(text, check, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw InvalidInput(Where{.function = source}, "is not a JSON file, or a damaged one");
  return json;
}

}  // namespace limen
