// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <span>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/train/options.h"
#include "limen/train/trainer.h"

namespace limen::train {
namespace {

template <typename Choice>
struct Names;
template <>
struct Names<Head> {
  static constexpr const char* kWhat = "model";
  static constexpr std::array<std::string_view, 4> kAll = {"postnet", "natpn", "mc-dropout", "ensemble"};
};
template <>
struct Names<EncoderKind> {
  static constexpr const char* kWhat = "encoder";
  static constexpr std::array<std::string_view, 3> kAll = {"mlp", "sam", "ft-transformer"};
};
template <>
struct Names<SamVariant> {
  static constexpr const char* kWhat = "variant of sam";
  static constexpr std::array<std::string_view, 4> kAll = {"2a", "2e", "3a", "3e"};
};
template <>
struct Names<GatedUnit> {
  static constexpr const char* kWhat = "gated unit";
  static constexpr std::array<std::string_view, 2> kAll = {"reglu", "geglu"};
};
template <>
struct Names<Budget> {
  static constexpr const char* kWhat = "certainty budget";
  static constexpr std::array<std::string_view, 4> kAll = {"constant", "exp-half", "exp", "normal"};
};
template <>
struct Names<Uncertainty> {
  static constexpr const char* kWhat = "uncertainty";
  static constexpr std::array<std::string_view, 6> kAll = {
      "entropy", "evidence", "variance", "mutual-information", "learnt-evidence", "counted-evidence"};
};
template <>
struct Names<Schedule> {
  static constexpr const char* kWhat = "schedule";
  static constexpr std::array<std::string_view, 4> kAll = {"constant", "cosine", "step", "plateau"};
};
template <>
struct Names<Selection> {
  static constexpr const char* kWhat = "selection";
  static constexpr std::array<std::string_view, 3> kAll = {"average-precision", "log-loss", "roc-auc"};
};
template <>
struct Names<Stage> {
  static constexpr const char* kWhat = "stage";
  static constexpr std::array<std::string_view, 3> kAll = {"warm-up", "training", "fine-tune"};
};
template <>
struct Names<NetworkKind> {
  static constexpr const char* kWhat = "network";
  static constexpr std::array<std::string_view, 2> kAll = {"fused", "plain"};
};

template <typename Choice>
std::string_view name_of(Choice choice) {
  return Names<Choice>::kAll.at(static_cast<std::size_t>(choice));
}

void require(bool is_good, const char* field, double value, const char* needed) {
  if (is_good) return;
  throw InvalidInput("train", std::string() + field + " is " + number_text(value) + ", must be " + needed);
}

}  // namespace

std::string_view to_string(Head head) { return name_of(head); }
std::string_view to_string(EncoderKind kind) { return name_of(kind); }
std::string_view to_string(SamVariant variant) { return name_of(variant); }
std::string_view to_string(GatedUnit unit) { return name_of(unit); }
std::string_view to_string(Budget budget) { return name_of(budget); }
std::string_view to_string(Uncertainty uncertainty) { return name_of(uncertainty); }
std::string_view to_string(Schedule schedule) { return name_of(schedule); }
std::string_view to_string(Selection selection) { return name_of(selection); }
std::string_view to_string(Stage stage) { return name_of(stage); }
std::string_view to_string(NetworkKind kind) { return name_of(kind); }

template <typename Choice>
std::vector<std::string> names_of() {
  return {Names<Choice>::kAll.begin(), Names<Choice>::kAll.end()};
}

template <typename Choice>
Choice parse(std::string_view name) {
  const auto& all = Names<Choice>::kAll;
  const auto found = std::ranges::find(all, name);
  if (found != all.end()) return static_cast<Choice>(found - all.begin());
  std::string known;
  for (const std::string_view each : all) known.append(known.empty() ? "" : ", ").append(each);
  throw InvalidInput(quoted(name) + " is no " + Names<Choice>::kWhat + "; there are " + known);
}

template std::vector<std::string> names_of<Head>();
template std::vector<std::string> names_of<EncoderKind>();
template std::vector<std::string> names_of<SamVariant>();
template std::vector<std::string> names_of<GatedUnit>();
template std::vector<std::string> names_of<Budget>();
template std::vector<std::string> names_of<Uncertainty>();
template std::vector<std::string> names_of<Schedule>();
template std::vector<std::string> names_of<Selection>();
template std::vector<std::string> names_of<NetworkKind>();
template Head parse<Head>(std::string_view);
template EncoderKind parse<EncoderKind>(std::string_view);
template SamVariant parse<SamVariant>(std::string_view);
template GatedUnit parse<GatedUnit>(std::string_view);
template Budget parse<Budget>(std::string_view);
template Uncertainty parse<Uncertainty>(std::string_view);
template Schedule parse<Schedule>(std::string_view);
template Selection parse<Selection>(std::string_view);
template Stage parse<Stage>(std::string_view);
template NetworkKind parse<NetworkKind>(std::string_view);

double default_weight_decay(EncoderKind kind) { return kind == EncoderKind::kFtTransformer ? 1e-5 : 0; }

EncoderOptions settled(EncoderOptions options, std::size_t num_rows) {
  struct Size {
    int embedding, blocks, heads;
  };
  const Size size = options.kind != EncoderKind::kFtTransformer ? Size{8, 2, 4}
                    : num_rows >= 200'000                       ? Size{192, 3, 8}
                    : num_rows >= 20'000                        ? Size{96, 3, 8}
                                                                : Size{48, 2, 4};
  if (!options.embedding) options.embedding = size.embedding;
  if (!options.blocks) options.blocks = size.blocks;
  if (!options.heads) options.heads = size.heads;
  return options;
}

int num_members(const HeadOptions& head) { return head.members.value_or(head.kind == Head::kEnsemble ? 5 : 1); }

int default_batch(std::size_t num_rows) { return num_rows < 100'000 ? 256 : 1024; }

double default_learning_rate(EncoderKind kind) {
  return kind == EncoderKind::kMlp ? 2e-3 : kind == EncoderKind::kSam ? 1e-3 : 1e-4;
}

Uncertainty default_uncertainty(Head head) {
  return has_evidence(head) ? Uncertainty::kEntropy : Uncertainty::kVariance;
}

void validate(const TrainOptions& options) {
  const int epochs = options.epochs.value_or(1);
  require(epochs >= 1 && epochs <= 100'000, "epochs", epochs, "1 to 100000");
  const int batch = options.batch.value_or(1);
  require(batch >= 1 && batch <= (1 << 24), "batch", batch, "1 to 16777216");
  const double learning_rate = options.learning_rate.value_or(1);
  require(learning_rate > 0 && std::isfinite(learning_rate), "learning_rate", learning_rate, "above 0");
  const double decay = options.weight_decay.value_or(0);
  require(decay >= 0 && std::isfinite(decay), "weight_decay", decay, "at least 0");
  require(options.clip >= 0 && std::isfinite(options.clip), "clip", options.clip, "at least 0");
  const int warm_up = options.warm_up.value_or(0);
  require(warm_up >= 0 && warm_up <= 1000, "warm_up", warm_up, "0 to 1000");
  const int fine_tune = options.fine_tune.value_or(0);
  require(fine_tune >= 0 && fine_tune <= 1000, "fine_tune", fine_tune, "0 to 1000");
  require(options.token_dropout >= 0 && options.token_dropout < 1, "token_dropout", options.token_dropout,
          "0 to below 1");
  require(options.embedding_rate > 0 && std::isfinite(options.embedding_rate), "embedding_rate", options.embedding_rate,
          "above 0");
  require(options.embedding_l2 >= 0 && std::isfinite(options.embedding_l2), "embedding_l2", options.embedding_l2,
          "at least 0");
  require(options.patience >= 1, "patience", options.patience, "at least 1");
  require(options.num_threads >= 0 && options.num_threads <= 4096, "num_threads", options.num_threads,
          "0 (all cores) to 4096");
}

}  // namespace limen::train
