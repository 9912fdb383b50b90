// SPDX-License-Identifier: MIT
// In place of the page where it cannot be bundled.
#include "page.h"

namespace limen::report::detail {

std::string_view page() { return {}; }

}  // namespace limen::report::detail
