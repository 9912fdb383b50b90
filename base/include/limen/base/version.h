// SPDX-License-Identifier: MIT
#pragma once

namespace limen {

inline constexpr const char* kLimenVersion = "0.1.0";

}  // namespace limen
