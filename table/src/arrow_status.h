// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "limen/base/error.h"

namespace limen::table::detail {

/// Throws InvalidInput: the file, what it was read as, and the first line of Arrow's reason.
[[noreturn]] void refuse_damaged(const std::string& name, std::string_view what, std::string_view reason);

inline void refuse_unless_ok(const arrow::Status& status, const std::string& name, std::string_view what) {
  if (!status.ok()) refuse_damaged(name, what, status.message());
}

template <typename Value>
[[nodiscard]] Value value_or_refuse(arrow::Result<Value> result, const std::string& name, std::string_view what) {
  refuse_unless_ok(result.status(), name, what);
  return std::move(result).ValueUnsafe();
}

/// Calls `action` and makes an InvalidInput that names the file of whatever it throws, except for limen's own errors.
/// Parquet throws exceptions of its own, and damaged files make Arrow ask for too much memory.
template <typename Action>
decltype(auto) guarded(const std::string& name, std::string_view what, Action&& action) {
  try {
    return action();
  } catch (const InvalidInput&) {
    throw;
  } catch (const IoError&) {
    throw;
  } catch (const std::bad_alloc&) {
    refuse_damaged(name, what, "it asks for more memory than there is");
  } catch (const std::exception& error) {
    refuse_damaged(name, what, error.what());
  }
}

}  // namespace limen::table::detail
