// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "limen/solve/boundary.h"

namespace limen {

struct OnnxOptions {
  bool single_precision = false;  ///< of the inputs; compared in double, to which it widens exactly
  bool as_column = false;         ///< declared shape of inputs and outputs: [N, 1], else [N]
  int opset = 19;                 ///< of ai.onnx, 13 to 25; segments need 19 at least, which compares texts
  /// 7 to 13. Unset: the one that came with the opset. Models that are to be merged must have the same two.
  std::optional<int> ir_version = std::nullopt;
  std::string score = "score";  ///< name of the input
  std::string uncertainty = "uncertainty";
  std::string segment = "segment";
  std::string decision = "decision";  ///< name of the output
  std::string level = "level";
};

/// Values of segments that a model may name, at most: each is compared with every row.
inline constexpr std::size_t kMostOnnxValues = 1000;

/// The boundary's rule as an ONNX model (the bytes of a ModelProto) of standard operators alone.
///
/// Inputs: score and uncertainty; for segments their texts, and no uncertainty where none of them has levels. Operators
/// go element by element: behind another graph, where declared shapes are gone, any shape will do. Outputs, int64:
/// decision (1 or 0; -1 where a number is NaN or infinite) and level (-1 there, and where a segment was never seen and
/// is never flagged). The level is found by a binary search in O(log levels) operators. The same boundary gives the
/// same bytes. Throws InvalidInput: a version that is not known, names that are empty, equal or no UTF-8, more than
/// kMostOnnxValues values.
[[nodiscard]] std::string to_onnx(const Boundary& boundary, const OnnxOptions& options = {});

}  // namespace limen
