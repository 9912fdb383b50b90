// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "network.h"

namespace limen::train::detail {

/// Named arrays with notes: the content of a file in the safetensors format, which holds numbers and no code, and which
/// other programs can read.
struct TensorFile {
  std::vector<NamedArray> arrays = {};
  std::map<std::string, std::string> notes = {};  ///< its member __metadata__
};

/// Eight bytes of header length, a JSON header, then the numbers as little-endian 32-bit floats, in the given order.
[[nodiscard]] std::string write_tensors(const TensorFile& file);

/// Arrays come in the order of their numbers, that in which they were written, so that writing them again gives the
/// same bytes. The bytes may come from anyone: sizes, offsets and overlaps are checked before any memory is taken.
/// `name` is the file in errors. Throws InvalidInput.
[[nodiscard]] TensorFile read_tensors(std::string_view bytes, const std::string& name);

}  // namespace limen::train::detail
