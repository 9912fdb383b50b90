// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace limen::report {

/// Whether this build has the report page: without Node.js, or without the packages of web/, it has none.
[[nodiscard]] bool has_page();

/// A study (docs/study.md) as one self-contained HTML page: the page that web/ is bundled into, with the study's JSON
/// and its title in it. Whatever the study's texts are, they cannot end the element that they stand in: `<`, `>`, `&`
/// and the separators U+2028 and U+2029 are written as escapes, which mean the same in JSON. Equal studies give equal
/// bytes.
///
/// study_json: one JSON object with "format": "limen-study" and "version": 1, at most 1 GB. What its sections hold is
/// not looked at. Throws InvalidInput where it is not that, std::runtime_error where this build has no page.
[[nodiscard]] std::string render_report(std::string_view study_json);

}  // namespace limen::report
