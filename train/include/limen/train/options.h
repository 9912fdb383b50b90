// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace limen::train {

/// Where score and uncertainty come from.
enum class Head { kPostnet, kNatpn, kMcDropout, kEnsemble };
enum class EncoderKind { kMlp, kSam, kFtTransformer };
/// Pairwise interactions of SAM: second or third order; a(ll) learned weights or e(lement-wise).
enum class SamVariant { k2A, k2E, k3A, k3E };
enum class GatedUnit { kReglu, kGeglu };
/// Evidence that natpn gives out over its latent space of D dimensions: 1, e^(D / 2), e^D or (4 pi)^(D / 2).
enum class Budget { kConstant, kExpHalf, kExp, kNormal };
enum class Uncertainty { kEntropy, kEvidence, kVariance, kMutualInformation, kLearntEvidence, kCountedEvidence };
enum class Schedule { kConstant, kCosine, kStep, kPlateau };
/// Which epoch is the best one on the validation rows.
enum class Selection { kAveragePrecision, kLogLoss, kRocAuc };
/// What an epoch fits: only the densities of postnet or natpn first and last, everything in between.
enum class Stage { kWarmUp, kTraining, kFineTune };
/// Two ways to compute one network, whose results are equal but for rounding and whose models and checkpoints are each
/// other's: kernels written by hand, for the processor; or plain tensor operations, slower, for any device of torch.
enum class NetworkKind { kFused, kPlain };

struct EncoderOptions {
  EncoderKind kind = EncoderKind::kMlp;
  /// Width of the embedding of a categorical feature (mlp: at most this; small vocabularies get less), or of a token.
  /// Unset, as blocks and heads: see settled.
  std::optional<int> embedding = {};
  /// Widths of the hidden layers of mlp, and of the layers behind sam.
  std::vector<int> hidden = {128, 64};
  /// 0 to below 1; mc-dropout needs more than 0. ft-transformer: of what each part adds, which its reference does not
  /// drop; nor does sam's.
  double dropout = 0.1;
  double attention_dropout = 0.2;     ///< ft-transformer: of the attention weights
  double feed_forward_dropout = 0.1;  ///< ft-transformer: of the inner layer
  SamVariant sam = SamVariant::k2A;
  bool residual = true;            ///< sam: adds the embeddings to their interactions, or passes them on beside
  std::optional<int> blocks = {};  ///< ft-transformer: transformer blocks; sam 3a and 3e: layers of interactions
  std::optional<int> heads = {};   ///< ft-transformer: attention heads; divides `embedding`
  GatedUnit gated = GatedUnit::kReglu;
};

struct HeadOptions {
  Head kind = Head::kNatpn;
  int latent = 16;                           ///< postnet, natpn: dimension D of z
  int flows = 6;                             ///< postnet: radial flows per class; natpn: in all
  bool batch_norm = false;                   ///< postnet, natpn: batch norm on z
  std::array<double, 2> prior = {1.0, 1.0};  ///< postnet, natpn: prior counts of negatives and positives
  double regularizer = 1e-5;                 ///< postnet, natpn: weight of the entropy
  Budget budget = Budget::kNormal;           ///< natpn
  int passes = 10;                           ///< mc-dropout: passes per prediction
  /// Networks that are trained and asked, not mc-dropout's: 1 to 1000. Unset: see num_members.
  std::optional<int> members = {};
};

struct ModelOptions {
  EncoderOptions encoder = {};
  HeadOptions head = {};
};

struct TrainOptions {
  std::optional<int> epochs = {};            ///< passes over the training rows, at most; unset: by rounds (trainer.h)
  std::optional<int> batch = {};             ///< rows of a step; unset: see default_batch
  std::optional<double> learning_rate = {};  ///< of Adam; unset: see default_learning_rate
  Schedule schedule = Schedule::kCosine;
  std::optional<double> weight_decay = {};  ///< decoupled; unset: see default_weight_decay
  double clip = 5.0;                        ///< largest norm of the gradient; 0: no clipping
  /// In training a token becomes the one of unseen values with this probability, so that it is learned what an unseen
  /// value means. 0 to below 1.
  double token_dropout = 0.0;
  /// Embeddings learn at the learning rate times this; above 0. A token is in few steps, and moves by no more than the
  /// learning rate in each.
  double embedding_rate = 3.0;
  /// Weight of half the squares of the embeddings, in the loss of a step that has their tokens.
  double embedding_l2 = 0.0;
  /// postnet, natpn: epochs that fit the densities alone before all else; unset: natpn 3, postnet 1 when latent >= 32.
  std::optional<int> warm_up = {};
  /// postnet, natpn: epochs that fit the densities alone to the best epoch's network; unset: natpn 5, postnet none.
  std::optional<int> fine_tune = {};
  Selection selection = Selection::kAveragePrecision;
  int patience = 10;  ///< epochs without a better one before stopping
  std::uint64_t seed = 0;
  int num_threads = 0;         ///< 0: all cores
  std::string device = "cpu";  ///< cpu, or cuda where torch can use it
  /// Unset: fused on cpu, else plain.
  std::optional<NetworkKind> network = {};
};

/// 5 for an ensemble and 1 for the others, unless it is set.
[[nodiscard]] int num_members(const HeadOptions& head);

/// Whether the head gives a Beta posterior, with evidence.
[[nodiscard]] constexpr bool has_evidence(Head head) { return head == Head::kPostnet || head == Head::kNatpn; }

/// The names that flags and files use: "postnet", "natpn", "mc-dropout", "ensemble"; "mlp", "sam", "ft-transformer";
/// "2a" and so on.
[[nodiscard]] std::string_view to_string(Head head);
[[nodiscard]] std::string_view to_string(EncoderKind kind);
[[nodiscard]] std::string_view to_string(SamVariant variant);
[[nodiscard]] std::string_view to_string(GatedUnit unit);
[[nodiscard]] std::string_view to_string(Budget budget);
[[nodiscard]] std::string_view to_string(Uncertainty uncertainty);
[[nodiscard]] std::string_view to_string(Schedule schedule);
[[nodiscard]] std::string_view to_string(Selection selection);
[[nodiscard]] std::string_view to_string(Stage stage);
[[nodiscard]] std::string_view to_string(NetworkKind kind);
/// All names of a choice, in the order of its values.
template <typename Choice>
[[nodiscard]] std::vector<std::string> names_of();
/// The value of a name. Throws InvalidInput that lists the names.
template <typename Choice>
[[nodiscard]] Choice parse(std::string_view name);

/// 256 for fewer than 100,000 training rows, else 1024: a small table needs more steps than a large one has to spare.
[[nodiscard]] int default_batch(std::size_t num_rows);
/// 0.002 for mlp, 0.001 for sam, 0.0001 for ft-transformer, as in its reference.
[[nodiscard]] double default_learning_rate(EncoderKind kind);
/// 0.00001 for ft-transformer, as in its reference, else 0.
[[nodiscard]] double default_weight_decay(EncoderKind kind);
/// With sizes of the encoder that fit a table of so many training rows where they are not set. mlp and sam: embeddings
/// of 8, 2 layers of interactions. ft-transformer: those of its reference, tokens of 192 in 3 blocks with 8 heads, from
/// 200,000 rows on; 96 in 3 with 8 from 20,000; 48 in 2 with 4 below. A network needs settled options.
[[nodiscard]] EncoderOptions settled(EncoderOptions options, std::size_t num_rows);

/// What a head's column `uncertainty` holds unless something else is asked for: the entropy of the Beta of postnet and
/// natpn, else the variance between passes or members.
[[nodiscard]] Uncertainty default_uncertainty(Head head);

}  // namespace limen::train
