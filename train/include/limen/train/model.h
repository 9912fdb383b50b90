// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "limen/train/features.h"
#include "limen/train/fingerprint.h"
#include "limen/train/options.h"
#include "limen/train/split.h"
#include "limen/train/trainer.h"
#include "limen/uncertainty/evidence_law.h"

namespace limen::train {

namespace detail {
struct ValueRates;
}

/// How the rows of a table were parted, so that a prediction of the same table can take one of the parts.
struct SplitUse {
  SplitOptions options = {};
  std::string time_column = {};  ///< empty: parts are random
  DateFormat time_format = DateFormat::kText;
  TimeCuts cuts = {};  ///< with time_column
  /// With time_column: training rows from this time on chose the epoch. Unset: a random share of them did, or others.
  std::optional<double> validation_from = std::nullopt;
  /// The table that was parted: random parts go by row numbers, which mean nothing in another one. Unset in models of
  /// older versions.
  std::optional<TableFingerprint> table = std::nullopt;
};

/// How the training table was read; a table to be predicted is read in the same way.
struct TableUse {
  std::string separator = {};  ///< empty: that of the format
  bool has_header = true;
  std::vector<std::string> names = {};
  std::vector<std::string> missing = {};
};

/// A measure of uncertainty, and the information test of it on the validation rows.
struct TestedUncertainty {
  Uncertainty kind = Uncertainty::kEntropy;
  double p_value = 1;
};

/// Which measure the column `uncertainty` of a prediction holds, and why.
struct UncertaintyChoice {
  Uncertainty kind = Uncertainty::kEntropy;
  std::vector<TestedUncertainty> tested = {};
  std::string why = {};  ///< a sentence
};

/// All that a model's folder says about it, beside the weights.
struct ModelCard {
  ModelOptions model = {};
  TrainOptions training = {};
  TableUse table = {};
  std::optional<SplitUse> split = std::nullopt;  ///< unset: all rows were for training
  std::array<double, 2> class_counts = {};       ///< negatives and positives that it learned from
  /// For every categorical feature the training rows whose value counts as unseen, since it is rare; empty: not known.
  std::vector<double> unseen_rows = {};
  std::size_t validation_rows = 0;
  int members = 1;  ///< networks that were trained to the end
  double average_precision = 0;
  double roc_auc = 0;
  std::vector<EpochReport> history = {};
  /// What the law of evidence (limen/uncertainty/evidence_law.h) found on the validation rows, in a sentence; empty:
  /// none was looked for.
  std::string law = {};
  /// Unset: default_uncertainty of the head.
  std::optional<UncertaintyChoice> uncertainty = std::nullopt;
};

/// What a model says about rows; each of the same length. Columns that its head does not have are empty.
struct Prediction {
  std::vector<double> score = {};  ///< of the network; with undersampling that of rows whose negatives are so rare
  std::vector<double> entropy = {};
  std::vector<double> evidence = {};  ///< postnet, natpn: alpha_0 + alpha_1, by the densities of the latent space
  std::vector<double> variance = {};
  std::vector<double> mutual_information = {};
  /// Training rows that stand behind a row, by the law of evidence, and the probability that the law gives it; empty
  /// without a law that is not silent.
  std::vector<double> learnt_evidence = {};
  std::vector<double> law_score = {};
  /// How many rows the score is worth by what more of them would change, where the model has rates of values; else
  /// empty.
  std::vector<double> counted_evidence = {};

  /// Larger means less certain: all kinds of evidence with their logarithm negated, the others as they are. Throws
  /// InvalidInput when the model does not have it.
  [[nodiscard]] std::vector<double> uncertainty(Uncertainty kind) const;
  /// Whether the model has it; true for no rows.
  [[nodiscard]] bool has(Uncertainty kind) const;

 private:
  [[nodiscard]] const std::vector<double>& column(Uncertainty kind) const;
};

/// A trained model: features, networks, and its card.
///
/// Its folder: model.json, for people and programs, weights.safetensors, which holds numbers only, and where there is a
/// law of evidence or rates of values their counts in evidence.json and rates.json. Loading runs no code from it. A
/// folder that is damaged, of a newer version, or whose parts do not belong together is refused.
class Model {
 public:
  /// weights: of a TrainResult. num_threads: that predict, 0: all cores; the predictions do not depend on it. law: of
  /// the network's score and tokens; a silent one is as none. rates: see ValueRates; null: none.
  Model(FeatureTransform features, ModelCard card, std::string weights, int num_threads = 0,
        std::optional<EvidenceLaw> law = std::nullopt, std::shared_ptr<const detail::ValueRates> rates = nullptr);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  [[nodiscard]] const FeatureTransform& features() const;
  [[nodiscard]] const ModelCard& card() const;
  /// Null when there is none that is not silent.
  [[nodiscard]] const EvidenceLaw* law() const;
  /// Categorical features whose rates of positives are inputs of the network.
  [[nodiscard]] std::vector<std::string> rated_features() const;
  /// What the column `uncertainty` of a prediction holds unless something else is asked for: what the card says.
  [[nodiscard]] Uncertainty uncertainty() const;

  /// rows: as features().encode gives them. The prediction of a row depends on the row and the model alone, to the last
  /// bit: not on the rows around it. wanted: the only measure that will be asked for; unset: any. Counted evidence asks
  /// the network three times, so it is left out where another one is wanted. Throws InvalidInput.
  [[nodiscard]] Prediction predict(const FeatureRows& rows, std::optional<Uncertainty> wanted = std::nullopt) const;

  /// Writes the folder, which must exist. Each file takes its place at once, model.json as the last. Throws IoError.
  void save(const std::string& folder) const;
  /// Throws IoError when a file cannot be read, is no regular file or is larger than model.json says, InvalidInput when
  /// it is not sound. `device`, `network`: see TrainOptions; they need not be those of the training.
  [[nodiscard]] static Model load(const std::string& folder, const std::string& device = "cpu", int num_threads = 0,
                                  std::optional<NetworkKind> network = std::nullopt);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What a model's folder says about it, without its weights. Throws as Model::load does.
[[nodiscard]] ModelCard load_card(const std::string& folder);

/// Puts a file in its place whole or not at all. Throws IoError.
void write_whole(const std::string& path, std::string_view bytes);

}  // namespace limen::train
