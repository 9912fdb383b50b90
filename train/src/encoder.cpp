// SPDX-License-Identifier: MIT
#include "encoder.h"

namespace limen::train {

std::unique_ptr<Encoder> make_encoder(const FeatureShape& shape, const EncoderOptions& options, int num_outputs,
                                      std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables) {
  switch (options.kind) {
    case EncoderKind::kSam:
      return make_sam(shape, options, num_outputs, seed, parameters, tables);
    case EncoderKind::kFtTransformer:
      return make_ft_transformer(shape, options, num_outputs, seed, parameters, tables);
    case EncoderKind::kMlp:
      break;
  }
  return make_mlp(shape, options, num_outputs, seed, parameters, tables);
}

}  // namespace limen::train
