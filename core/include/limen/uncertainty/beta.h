// SPDX-License-Identifier: MIT
#pragma once

namespace limen {

/// Differential entropy of Beta(alpha1, alpha0) in nats:
/// ln B(a1, a0) - (a1 - 1) psi(a1) - (a0 - 1) psi(a0) + (a1 + a0 - 2) psi(a1 + a0).
///
/// Both > 0 and finite. 0 for the uniform Beta(1, 1), negative otherwise (up to rounding); symmetric to the last bit.
/// The terms of the formula grow like a ln a and cancel; they are cancelled by hand before anything is evaluated, so
/// that the absolute error stays near 1e-14 (relative for small alpha, where the entropy is about -1 / alpha) at every
/// size and no switch to the normal limit 0.5 ln(2 pi e p (1 - p) / (a1 + a0)) is needed; that limit is reached as both
/// grow, and it would be wrong for one small and one huge alpha. Below the range of double: minus infinity. O(1).
/// Throws InvalidInput.
[[nodiscard]] double beta_entropy(double alpha1, double alpha0);

}  // namespace limen
