// SPDX-License-Identifier: MIT
#include "limen/train/preset.h"

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::train {
namespace {

Preset benchmark_sam(int layers, double dropout, double embedding_l2) {
  Preset preset;
  EncoderOptions& encoder = preset.model.encoder;
  encoder.kind = EncoderKind::kSam;
  encoder.sam = SamVariant::k3A;
  encoder.embedding = 10;
  encoder.blocks = layers;
  encoder.dropout = dropout;
  encoder.hidden = {};
  TrainOptions& training = preset.training;
  training.epochs = 100;
  training.batch = 4096;
  training.learning_rate = 1e-3;
  training.schedule = Schedule::kPlateau;
  training.selection = Selection::kRocAuc;
  training.patience = 2;
  training.embedding_l2 = embedding_l2;
  training.clip = 10;
  return preset;
}

Preset ecom() {
  Preset preset;
  EncoderOptions& encoder = preset.model.encoder;
  encoder.kind = EncoderKind::kFtTransformer;
  encoder.embedding = 192;
  encoder.blocks = 3;
  encoder.heads = 8;
  encoder.attention_dropout = 0.2;
  encoder.feed_forward_dropout = 0.1;
  encoder.dropout = 0;
  preset.model.head.flows = 8;
  TrainOptions& training = preset.training;
  training.learning_rate = 1e-4;
  training.schedule = Schedule::kConstant;
  training.weight_decay = 1e-5;
  training.epochs = 100;
  training.patience = 16;
  training.clip = 0;
  return preset;
}

}  // namespace

Preset model_preset(std::string_view name) {
  if (name == "paper-criteo") return benchmark_sam(5, 0, 1e-5);
  if (name == "paper-avazu") return benchmark_sam(4, 0.3, 0.01);
  if (name == "paper-ecom") return ecom();
  throw InvalidInput("model_preset", quoted(name) + " is not known, must be paper-criteo, paper-avazu or paper-ecom");
}

std::vector<std::string> model_presets() { return {"paper-criteo", "paper-avazu", "paper-ecom"}; }

}  // namespace limen::train
