// SPDX-License-Identifier: MIT
// One network: encoder, head, loss and optimiser. The only things that know torch are behind this header, so that the
// trainer, the model folder and the verbs compile without it. They are in a module that the first call of any function
// here loads; where it is missing or cannot be loaded that call throws std::runtime_error, which says what to do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limen/train/feature_rows.h"
#include "limen/train/options.h"

namespace limen::train {

/// Rows of a batch, as spans of the caller's memory; row by row.
struct BatchView {
  std::size_t num_rows = 0;
  std::span<const float> numeric = {};
  std::span<const std::int32_t> categorical = {};
  std::span<const float> fraction = {};      ///< of the features with knots
  std::span<const std::uint8_t> label = {};  ///< empty when predicting
};

/// What a network says about rows. Each of the same length; which ones are filled depends on the head.
struct NetworkOutput {
  std::vector<double> score = {};     ///< postnet: alpha_1 / (alpha_0 + alpha_1); else probability, or its mean
  std::vector<double> entropy = {};   ///< postnet, natpn: of the Beta, as what follows; else of the mean probability
  std::vector<double> evidence = {};  ///< postnet and natpn only: alpha_0 + alpha_1
  std::vector<double> variance = {};  ///< of the probability
  std::vector<double> mutual_information = {};  ///< between the label and the network
};

/// A named array of numbers of a network: a parameter, a buffer, or part of the optimiser's state.
struct NamedArray {
  std::string name = {};
  std::vector<std::int64_t> shape = {};
  std::vector<float> values = {};
};

struct StepOptions {
  double learning_rate = 2e-3;
  double weight_decay = 0.0;
  double clip = 5.0;
  double token_dropout = 0.0;   ///< probability with which a token becomes 0
  double embedding_rate = 1.0;  ///< the embeddings' learning rate, in those of the others
  double embedding_l2 = 0.0;    ///< weight of half the squares of the batch's embeddings
  /// Seeds dropout: the same step with the same seed gives the same weights.
  std::uint64_t seed = 0;
  /// Only the densities of postnet or natpn learn, by maximum likelihood.
  bool densities_only = false;
};

class AnyNetwork;

class Network {
 public:
  /// `class_counts`: negatives and positives of the training rows (the evidence budget of postnet). `num_threads`: that
  /// work on one batch, 0: all cores; results do not depend on it. `kind`: see TrainOptions::network; the state of one
  /// kind is a state of the other.
  Network(const FeatureShape& shape, const ModelOptions& options, std::array<double, 2> class_counts,
          std::uint64_t seed, const std::string& device, int num_threads = 0,
          std::optional<NetworkKind> kind = std::nullopt);
  ~Network();
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;

  /// One step of Adam; returns the mean loss of the batch before the step. A loss or gradient that is not finite
  /// changes nothing and returns NaN.
  double train_step(const BatchView& batch, const StepOptions& options);

  /// The numbers of a row depend on the row, the weights and the seed alone, to the last bit: not on the other rows of
  /// the batch or its place among them. For mc-dropout, `seed` draws the units that each pass leaves out, the same for
  /// all rows.
  [[nodiscard]] NetworkOutput predict(const BatchView& batch, std::uint64_t seed) const;

  /// Weights and buffers; with `optimizer`, also the optimiser's state: all that the next step depends on.
  [[nodiscard]] std::vector<NamedArray> state(bool optimizer) const;
  /// Takes over a state of the same network. Throws InvalidInput that names the array when one is missing, unknown or
  /// of another shape or not finite; the network is unchanged then.
  void load_state(const std::vector<NamedArray>& arrays, bool optimizer);

 private:
  std::unique_ptr<AnyNetwork> network_;
};

/// Empty when networks of this kind can be computed on `device`, else what is wrong and what to do.
[[nodiscard]] std::string device_error(const std::string& device, std::optional<NetworkKind> kind);

}  // namespace limen::train
