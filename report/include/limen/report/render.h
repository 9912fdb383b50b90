// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace limen::report {

/// One HTML page that shows a study (docs/study.md) and needs nothing beside itself.
[[nodiscard]] std::string render_report(std::string_view study_json);

}  // namespace limen::report
