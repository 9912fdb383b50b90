// SPDX-License-Identifier: MIT
#include "validate.h"

#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "limen/base/error.h"

namespace limen::train {
namespace {

template <typename Number>
std::string text(Number number) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

template <typename Number>
void require(bool good, const char* function, const std::string& name, Number value, const char* needed) {
  if (good) return;
  throw InvalidInput(function, name + " is " + text(value) + ", must be " + needed);
}

// Sizes beyond these are mistakes; they also keep the products that size memory in range.
constexpr int kLargest = 65536;

void require_count(const std::string& name, int value) {
  require(value >= 1 && value <= kLargest, "Network", name, value, "from 1 to 65536");
}

}  // namespace

void validate(const FeatureShape& shape, const ModelOptions& options, std::array<double, 2> class_counts) {
  if (shape.num_numeric + shape.num_categorical() == 0) throw InvalidInput("Network", "there are no features");
  for (std::size_t at = 0; at < shape.knots.size(); ++at) {
    const auto [numeric, categorical] = shape.knots[at];
    const bool increases =
        at == 0 || (numeric > shape.knots[at - 1].numeric && categorical > shape.knots[at - 1].categorical);
    if (increases && numeric < shape.num_numeric && categorical < shape.num_categorical()) continue;
    throw InvalidInput("Network", "knots[" + text(at) + "] is input " + text(numeric) + " and feature " +
                                      text(categorical) + ", must be of the " + text(shape.num_numeric) +
                                      " inputs and " + text(shape.num_categorical()) + " features, in their order");
  }
  for (std::size_t feature = 0; feature < shape.num_categorical(); ++feature) {
    require(shape.num_tokens[feature] >= 1, "Network", "num_tokens[" + text(feature) + "]", shape.num_tokens[feature],
            ">= 1");
  }
  const EncoderOptions& encoder = options.encoder;
  require_count("embedding", encoder.embedding.value_or(0));
  for (std::size_t layer = 0; layer < encoder.hidden.size(); ++layer) {
    require_count("hidden[" + text(layer) + "]", encoder.hidden[layer]);
  }
  for (const auto& [name, rate] :
       {std::pair("dropout", encoder.dropout), std::pair("attention_dropout", encoder.attention_dropout),
        std::pair("feed_forward_dropout", encoder.feed_forward_dropout)}) {
    require(rate >= 0 && rate < 1, "Network", name, rate, "in [0, 1)");
  }
  if (encoder.kind != EncoderKind::kMlp) require_count("blocks", encoder.blocks.value_or(0));
  if (encoder.kind == EncoderKind::kFtTransformer) {
    require_count("heads", encoder.heads.value_or(0));
    if (*encoder.embedding % *encoder.heads != 0) {
      throw InvalidInput("Network",
                         "heads is " + text(*encoder.heads) + ", must divide embedding, " + text(*encoder.embedding));
    }
  }
  const HeadOptions& head = options.head;
  if (head.kind == Head::kMcDropout) {
    require(encoder.dropout > 0, "Network", "dropout", encoder.dropout, "> 0 for mc-dropout");
    require_count("passes", head.passes);
  }
  if (!has_evidence(head.kind)) return;
  require_count("latent", head.latent);
  require_count("flows", head.flows);
  require(head.regularizer >= 0 && std::isfinite(head.regularizer), "Network", "regularizer", head.regularizer,
          ">= 0 and finite");
  for (std::size_t c = 0; c < 2; ++c) {
    require(head.prior[c] > 0 && std::isfinite(head.prior[c]), "Network", "prior[" + text(c) + "]", head.prior[c],
            "> 0 and finite");
    require(class_counts[c] >= 0 && std::isfinite(class_counts[c]), "Network", "class_counts[" + text(c) + "]",
            class_counts[c], ">= 0 and finite");
  }
}

void validate(const StepOptions& options, Head head) {
  require(options.learning_rate >= 0 && std::isfinite(options.learning_rate), "train_step", "learning_rate",
          options.learning_rate, ">= 0 and finite");
  require(options.weight_decay >= 0 && std::isfinite(options.weight_decay), "train_step", "weight_decay",
          options.weight_decay, ">= 0 and finite");
  require(options.token_dropout >= 0 && options.token_dropout < 1, "train_step", "token_dropout", options.token_dropout,
          "in [0, 1)");
  require(options.embedding_rate > 0 && std::isfinite(options.embedding_rate), "train_step", "embedding_rate",
          options.embedding_rate, "> 0 and finite");
  require(options.embedding_l2 >= 0 && std::isfinite(options.embedding_l2), "train_step", "embedding_l2",
          options.embedding_l2, ">= 0 and finite");
  require(options.clip >= 0, "train_step", "clip", options.clip, ">= 0");
  if (options.densities_only && !has_evidence(head)) {
    throw InvalidInput("train_step", "densities_only is for postnet and natpn");
  }
}

void check_batch(const char* function, const FeatureShape& shape, const BatchView& batch, bool labels) {
  const auto require_size = [&](const char* name, std::size_t size, std::size_t needed) {
    if (size == needed) return;
    throw InvalidInput(function, std::string(name) + " has " + text(size) + " values, must have " + text(needed));
  };
  if (labels && batch.num_rows == 0) throw InvalidInput(function, "the batch has no rows");
  require_size("numeric", batch.numeric.size(), batch.num_rows * shape.num_numeric);
  require_size("categorical", batch.categorical.size(), batch.num_rows * shape.num_categorical());
  require_size("fraction", batch.fraction.size(), batch.num_rows * shape.knots.size());
  if (labels) require_size("label", batch.label.size(), batch.num_rows);
  const std::size_t features = shape.num_categorical();
  for (std::size_t row = 0; row < batch.num_rows; ++row) {
    for (std::size_t feature = 0; feature < features; ++feature) {
      const std::int32_t token = batch.categorical[row * features + feature];
      if (token >= 0 && token < shape.num_tokens[feature]) continue;
      throw InvalidInput(function, "token of feature " + text(feature) + " in row " + text(row) + " is " + text(token) +
                                       ", must be from 0 to " + text(shape.num_tokens[feature] - 1));
    }
  }
  for (std::size_t row = 0; row < batch.num_rows; ++row) {
    for (std::size_t at = 0; at < shape.knots.size(); ++at) {
      const std::size_t feature = shape.knots[at].categorical;
      const bool is_last = batch.categorical[row * features + feature] + 1 == shape.num_tokens[feature];
      if (!is_last || batch.fraction[row * shape.knots.size() + at] == 0) continue;
      throw InvalidInput(function, "fraction " + text(at) + " in row " + text(row) + " is " +
                                       text(batch.fraction[row * shape.knots.size() + at]) +
                                       ", must be 0 at the last token");
    }
  }
  for (std::size_t row = 0; labels && row < batch.num_rows; ++row) {
    require(batch.label[row] <= 1, function, "label[" + text(row) + "]", static_cast<int>(batch.label[row]), "0 or 1");
  }
}

}  // namespace limen::train
