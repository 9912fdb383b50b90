// SPDX-License-Identifier: MIT
// Encoders turn a chunk of rows into numbers per row: the latent of postnet, or a logit. Forward and backward of one
// chunk run on one thread; chunks are independent, so that many run at a time and no library has to be parallel inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dropout.h"
#include "embedding_tables.h"
#include "limen/train/feature_rows.h"
#include "limen/train/options.h"
#include "parameters.h"

namespace limen::train {

struct ChunkInput {
  std::size_t rows = 0;
  const float* numeric = nullptr;             ///< rows x num_numeric
  const std::int32_t* categorical = nullptr;  ///< rows x num_categorical
  const float* fraction = nullptr;            ///< rows x knots
};

class Encoder {
 public:
  /// What a forward pass leaves for the way back. One thread at a time.
  struct Workspace {
    virtual ~Workspace() = default;
  };

  virtual ~Encoder() = default;
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_workspace(std::size_t max_rows) const = 0;
  /// Writes rows x num_outputs numbers to `out`. With `learning`, backward() may follow.
  virtual void forward(const Parameters& parameters, const EmbeddingTables& tables, const ChunkInput& input,
                       const Dropout& dropout, bool learning, Workspace& workspace, float* out) const = 0;
  /// out_gradient: rows x num_outputs. Adds to `gradient` (layout of the parameters), writes `table_gradient`
  /// (rows x tables.row_width()).
  virtual void backward(const Parameters& parameters, const EmbeddingTables& tables, const float* out_gradient,
                        Workspace& workspace, float* gradient, float* table_gradient) const = 0;
};

/// Chunks run in parallel; an operation of torch inside one is serial. To be called by each thread before it works on a
/// chunk. No OpenMP team is ever made then, whose barriers spin: on a busy machine of two cores a matrix product took
/// 50 times longer with two threads than with one.
void make_torch_serial();

/// Adds the encoder's parameters, set from the seed, and its tables.
[[nodiscard]] std::unique_ptr<Encoder> make_encoder(const FeatureShape& shape, const EncoderOptions& options,
                                                    int num_outputs, std::uint64_t seed, Parameters& parameters,
                                                    EmbeddingTables& tables);

std::unique_ptr<Encoder> make_mlp(const FeatureShape& shape, const EncoderOptions& options, int num_outputs,
                                  std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables);
/// SAM (Cheng & Xue 2021, "Looking at CTR Prediction Again: Is Attention All You Need?"). A row is n tokens f_1 .. f_n
/// of width d: a categorical feature's vector; a numeric feature's x w_j + b_j, plus the vector between its knots where
/// it has knots. Passed on to the layers behind:
///   2a  S_ij = f_i . f_j for i <= j. (The paper's S_ij W_ij with learned vectors W_ij, followed by a linear layer, is
///   a
///       linear layer of the S_ij: the W_ij are in that layer.)
///   2e  S_ij (f_i * f_j), element by element, for i <= j
///   3a  sum_j S_ij W_ij with S_ij = f_i . K f_j, for each i
///   3e  sum_j S_ij (f_i * f_j) with the same S_ij, for each i
/// 3a and 3e are layers: `blocks` of them follow each other, and the residual adds Q f_i. For 2a and 2e the residual
/// passes the tokens on beside the interactions. Dropout on what is passed on.
std::unique_ptr<Encoder> make_sam(const FeatureShape& shape, const EncoderOptions& options, int num_outputs,
                                  std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables);
/// FT-Transformer (Gorishniy et al. 2021, as in rtdl). Tokens as above, a categorical feature's with a bias b_j too,
/// and a learned token CLS in front. Then `blocks` times:
///   x += attention(norm(x)),  softmax(Q K^T / sqrt(d / heads)) V per head, joined by a linear layer
///   x += W_2 (a * act(b)) + c_2,  (a, b) = W_1 norm(x) + c_1, each of width floor(4 d / 3), act = ReLU or GELU
/// where the first block has no norm before its attention, and the last one computes CLS alone; and a linear layer of
/// ReLU(norm(x_CLS)). Dropout: attention_dropout on the softmax, feed_forward_dropout on a * act(b), dropout on what
/// each part adds.
std::unique_ptr<Encoder> make_ft_transformer(const FeatureShape& shape, const EncoderOptions& options, int num_outputs,
                                             std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables);

}  // namespace limen::train
