// SPDX-License-Identifier: MIT
// The fast network: forward, backward and Adam by hand, on the processor.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "any_network.h"
#include "density_head.h"
#include "embedding_tables.h"
#include "encoder.h"
#include "latent_norm.h"
#include "parameters.h"

namespace limen::train {

/// A batch is cut into chunks of rows of fixed size and the chunks are gathered in groups; a group's gradients are
/// added up in order, then those of the groups. Threads take whole groups: the result does not depend on their number.
class FusedNetwork final : public AnyNetwork {
 public:
  /// num_threads: that work on one batch; 0: all cores.
  FusedNetwork(const FeatureShape& shape, const ModelOptions& options, std::array<double, 2> class_counts,
               std::uint64_t seed, int num_threads);

  double train_step(const BatchView& batch, const StepOptions& options) override;
  [[nodiscard]] NetworkOutput predict(const BatchView& batch, std::uint64_t seed) const override;
  [[nodiscard]] std::vector<NamedArray> state(bool optimizer) const override;
  void load_state(const std::vector<NamedArray>& arrays, bool optimizer) override;

 private:
  struct Batch;  // the batch under way in train_step
  struct Buffers;
  struct Place;  // where an array of the state lies

  void check(const char* function, const BatchView& batch, bool labels) const;
  void forward_chunk(const Batch& batch, std::size_t chunk, Encoder::Workspace& workspace);
  double loss_chunk(const Batch& batch, std::size_t chunk, std::size_t group);
  void backward_chunk(const Batch& batch, std::size_t chunk, std::size_t group, Encoder::Workspace& workspace);
  double gradients(const Batch& batch);
  double take_step(const Batch& batch, double loss);
  struct PredictBuffers;  // of one thread
  void predict_chunk(const BatchView& batch, std::size_t begin, std::size_t end, std::uint64_t seed,
                     PredictBuffers& buffers, NetworkOutput& out) const;
  std::vector<Place> places(bool optimizer);

  FeatureShape shape_;
  ModelOptions options_;
  int num_outputs_ = 1;
  Parameters parameters_ = {};
  EmbeddingTables tables_ = {};
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<DensityHead> head_;  // postnet and natpn only
  LatentNorm norm_ = LatentNorm();
  AdamClock clock_ = {};       // of the encoder
  AdamClock head_clock_ = {};  // of the head, whose flows also learn alone
  std::shared_ptr<Buffers> buffers_;
};

}  // namespace limen::train
