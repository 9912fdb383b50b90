// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace limen::report::detail {

/// The page, with one mark for the title and one for the study. Empty where the build has none.
[[nodiscard]] std::string_view page();

}  // namespace limen::report::detail
