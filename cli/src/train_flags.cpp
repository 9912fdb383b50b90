// SPDX-License-Identifier: MIT
#include "train_flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "limen/base/error.h"
#include "limen/train/preset.h"
#include "limen/train/schema.h"
#include "limen/train/trainer.h"

namespace limen::cli {
namespace {

/// A preset says how its files are read and which columns are what; flags that were given win.
void apply_schema(TrainFlags& flags) {
  if (flags.schema.empty()) return;
  const train::Schema schema = train::schema_preset(flags.schema);
  flags.read.no_header = !schema.header;
  flags.read.names = schema.header ? std::vector<std::string>() : schema.columns;
  if (flags.read.separator.empty()) flags.read.separator = std::string(1, schema.separator);
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(flags.features.numeric, schema.features.numeric);
  add(flags.features.categorical, schema.features.categorical);
  add(flags.features.drop, schema.features.drop);
  flags.features.date.insert(schema.features.date.begin(), schema.features.date.end());
  if (flags.features.label.empty()) flags.features.label = schema.features.label;
  if (!flags.is_given("--min-count")) flags.features.min_count = schema.features.min_count;
  if (!flags.is_given("--scaling") && schema.features.scaling == train::Scaling::kLinear) flags.scaling = "linear";
}

/// A preset says what the network is and how it is trained; flags that were given win.
void apply_preset(TrainFlags& flags) {
  if (flags.preset.empty()) return;
  const train::Preset preset = train::model_preset(flags.preset);
  const train::EncoderOptions& encoder = preset.model.encoder;
  const train::HeadOptions& head = preset.model.head;
  const train::TrainOptions& training = preset.training;
  const auto take = [&](const char* flag, auto& to, const auto& from) {
    if (!flags.is_given(flag)) to = from;
  };
  take("--model", flags.model, train::to_string(head.kind));
  take("--encoder", flags.encoder, train::to_string(encoder.kind));
  take("--sam", flags.sam, train::to_string(encoder.sam));
  take("--gated", flags.gated, train::to_string(encoder.gated));
  take("--hidden", flags.options.encoder.hidden, encoder.hidden);
  take("--embedding", flags.options.encoder.embedding, encoder.embedding);
  take("--dropout", flags.options.encoder.dropout, encoder.dropout);
  take("--attention-dropout", flags.options.encoder.attention_dropout, encoder.attention_dropout);
  take("--feed-forward-dropout", flags.options.encoder.feed_forward_dropout, encoder.feed_forward_dropout);
  take("--blocks", flags.options.encoder.blocks, encoder.blocks);
  take("--heads", flags.options.encoder.heads, encoder.heads);
  take("--flows", flags.options.head.flows, head.flows);
  take("--epochs", flags.training.epochs, training.epochs);
  take("--patience", flags.training.patience, training.patience);
  take("--selection", flags.selection, train::to_string(training.selection));
  take("--batch", flags.training.batch, training.batch);
  take("--learning-rate", flags.training.learning_rate, training.learning_rate);
  take("--schedule", flags.schedule, train::to_string(training.schedule));
  take("--weight-decay", flags.training.weight_decay, training.weight_decay);
  take("--embedding-l2", flags.training.embedding_l2, training.embedding_l2);
  take("--clip", flags.training.clip, training.clip);
}

void check(const TrainFlags& flags) {
  if (flags.features.label.empty()) throw InvalidInput("train: give the label's column: --label COLUMN");
  if (!flags.split_by_time.empty() && flags.split.empty()) {
    throw InvalidInput("--split-by-time needs the shares: --split 0.6,0.2,0.2");
  }
  if (!(flags.tau >= 1 && flags.tau <= 1e9))
    throw InvalidInput(fmt::format("--tau: tau is {:g}, must be 1 to 1e9", flags.tau));
  if (!(flags.validation > 0 && flags.validation < 1)) {
    throw InvalidInput("--validation: must be a share between 0 and 1 of the training rows");
  }
  std::vector<std::string> all = flags.data;
  all.insert(all.end(), flags.validation_data.begin(), flags.validation_data.end());
  for (const std::string& path : all) {
    if (path == "-") throw InvalidInput("train: the table is read more than once; give a file, not stdin");
  }
}

void check_folder(const TrainFlags& flags) {
  namespace fs = std::filesystem;
  const fs::path folder(flags.output);
  if (fs::exists(folder) && !fs::is_directory(folder)) {
    throw InvalidInput(flags.output + ": exists and is not a folder");
  }
  const bool has_model = fs::exists(folder / "model.json") || fs::exists(folder / kCheckpointFile);
  if (has_model && !flags.resume && !flags.overwrite) {
    throw InvalidInput(
        fmt::format("{}: holds a model already; give another folder, --resume or --overwrite", flags.output));
  }
  if (flags.resume && !fs::exists(folder / kCheckpointFile)) {
    throw InvalidInput(fmt::format("{}: there is no checkpoint to resume from{}", flags.output,
                                   fs::exists(folder / "model.json") ? "; its training was finished" : ""));
  }
  fs::path there = fs::absolute(folder).lexically_normal();
  while (!fs::exists(there) && there.has_relative_path()) there = there.parent_path();
  if (::access(there.c_str(), W_OK | X_OK) != 0) {
    throw IoError(IoError::Access::kWrite, flags.output, std::string("cannot be written: ") + std::strerror(errno));
  }
}

/// Takes over into the options what the flags say in words.
void parse_words(TrainFlags& flags) {
  train::HeadOptions& head = flags.options.head;
  train::EncoderOptions& encoder = flags.options.encoder;
  if (!flags.prior.empty()) {
    const auto parts = CLI::detail::split(flags.prior, ',');
    if (parts.size() != 2 || !CLI::detail::lexical_cast(parts[0], head.prior[0]) ||
        !CLI::detail::lexical_cast(parts[1], head.prior[1])) {
      throw InvalidInput("--prior: give two numbers, of negatives and positives, such as 1,1");
    }
  }
  head.kind = train::parse<train::Head>(flags.model);
  encoder.kind = train::parse<train::EncoderKind>(flags.encoder);
  encoder.sam = train::parse<train::SamVariant>(flags.sam);
  encoder.gated = train::parse<train::GatedUnit>(flags.gated);
  head.budget = train::parse<train::Budget>(flags.budget);
  encoder.residual = !flags.no_residual;
  const bool drops = encoder.kind == train::EncoderKind::kMlp || head.kind == train::Head::kMcDropout;
  if (!drops && !flags.is_given("--dropout") && flags.preset.empty()) encoder.dropout = 0;
  flags.training.schedule = train::parse<train::Schedule>(flags.schedule);
  flags.training.selection = train::parse<train::Selection>(flags.selection);
  flags.training.network = parse_network(flags.network);
  train::validate(flags.training);
  train::FeatureOptions& features = flags.features;
  features.scaling = flags.scaling == "log"      ? train::Scaling::kLog
                     : flags.scaling == "linear" ? train::Scaling::kLinear
                                                 : train::Scaling::kAuto;
  features.label_rule = label_rule(flags.labels);
  features.seed = flags.training.seed;
  features.num_threads = flags.training.num_threads;
  for (const std::string& date : flags.date) features.date[date] = DateFormat::kText;
}

}  // namespace

void add_train_flags(CLI::App& verb, TrainFlags& flags) {
  FlagGroup own(verb);
  train::FeatureOptions& features = flags.features;
  verb.add_option("DATA", flags.data, "Table with features and label: one or more files")->required();
  own.add("-o,--output", flags.output, "MODEL", "Folder of the model")->required();
  own.add("--label", features.label, "COLUMN", "Column of the label");
  add_label_flags(verb, flags.labels);
  own.list("--numeric", features.numeric, "Columns of numbers; default: those that look like numbers");
  own.list("--date", flags.date, "Columns of dates; default: text that reads as dates");
  own.list("--drop", features.drop, "Columns to leave out");
  own.choice("--schema", flags.schema, "NAME", train::schema_presets(), "Columns of a known data set");
  own.choice("--scaling", flags.scaling, "KIND", {"auto", "linear", "log"}, "Numbers: auto, linear or log");
  own.add("--numeric-knots", features.numeric_knots, "N",
          "Numbers also have a vector, linear between at most so many knots of equally many rows; 0: none");
  own.add("--min-count", features.min_count, "N", "Categories seen fewer times share one token");
  own.add("--max-vocabulary", features.max_vocabulary, "N", "Columns of more categories are hashed");

  FlagGroup rows(verb, "Rows");
  rows.add("--split", flags.split, "A,B,C",
           "Shares of training, hold-out and test; default: all rows are for training");
  rows.add("--split-by-time", flags.split_by_time, "COLUMN", "Training is the earliest part by this column");
  rows.add("--tau", flags.tau, "T", "Keep training negatives at rate 1/tau");
  rows.add("--validation", flags.validation, "S", "Share of the training rows kept aside to choose the epoch");
  rows.toggle("--no-law", flags.no_law, "Do not look on these rows for a law of evidence");
  rows.toggle("--no-rates", flags.no_rates,
              "Columns of many values: the values' rates of positives are no inputs of the network");
  rows.add("--validation-data", flags.validation_data, "FILE", "Other rows for that, at the natural rate");

  FlagGroup network(verb, "Network");
  network.choice("--preset", flags.preset, "NAME", train::model_presets(),
                 "Network and training of the paper; flags that are given win");
  flags.is_given = [&verb](const char* flag) { return verb.count(flag) > 0; };
  train::EncoderOptions& encoder = flags.options.encoder;
  train::HeadOptions& head = flags.options.head;
  network.choice("--model", flags.model, "MODEL", train::names_of<train::Head>(),
                 "postnet, natpn, mc-dropout or ensemble");
  network.choice("--encoder", flags.encoder, "KIND", train::names_of<train::EncoderKind>(),
                 "mlp, sam or ft-transformer");
  network.list("--hidden", encoder.hidden, "Widths of the layers of mlp, and behind sam")->default_str("128,64");
  network.add(
      "--embedding", encoder.embedding, "N",
      "Width of a category's embedding, or of a token [8; ft-transformer: 192 from 200,000 rows on, fewer below]");
  network.add("--dropout", encoder.dropout, "P",
              "Share of units left out in training; sam and ft-transformer: 0 when not given");
  network.choice("--sam", flags.sam, "KIND", train::names_of<train::SamVariant>(), "Variant of sam: 2a, 2e, 3a or 3e");
  network.toggle("--no-residual", flags.no_residual, "sam: interactions alone");
  network.add("--blocks", encoder.blocks, "N",
              "Blocks of ft-transformer [3, small tables 2], layers of sam 3a and 3e [2]");
  network.add("--heads", encoder.heads, "N", "Attention heads of ft-transformer [8, small tables 4]");
  network.choice("--gated", flags.gated, "KIND", train::names_of<train::GatedUnit>(),
                 "Unit of ft-transformer: reglu or geglu");
  network.add("--attention-dropout", encoder.attention_dropout, "P", "ft-transformer: of the attention weights");
  network.add("--feed-forward-dropout", encoder.feed_forward_dropout, "P", "ft-transformer: of the inner layer");
  network.add("--latent", head.latent, "N", "postnet, natpn: dimension of the latent space");
  network.add("--flows", head.flows, "N", "postnet: radial flows per class; natpn: in all");
  network.toggle("--batch-norm", head.batch_norm, "postnet, natpn: batch norm on the latent space");
  network.add("--prior", flags.prior, "A,B", "postnet, natpn: prior counts of negatives and positives [1,1]");
  network.add("--regularizer", head.regularizer, "R", "postnet, natpn: weight of the entropy in the loss");
  network.choice("--budget", flags.budget, "KIND", train::names_of<train::Budget>(),
                 "natpn: evidence over the latent space: constant, exp-half, exp or normal");
  network.add("--passes", head.passes, "N", "mc-dropout: passes per prediction");
  network.add("--members", head.members, "N",
              "Networks that are trained and asked [ensemble: 5, postnet and natpn: 1]");

  FlagGroup group(verb, "Training");
  train::TrainOptions& training = flags.training;
  group.add("--epochs", training.epochs, "N",
            "Most passes over the training rows [6; where they still bring much, 12 more, and then 24]");
  group.add("--patience", training.patience, "N", "Epochs without a better one before it stops");
  group.choice("--selection", flags.selection, "BY", train::names_of<train::Selection>(),
               "Which epoch is the best on validation rows: average-precision, log-loss or roc-auc");
  group.add("--batch", training.batch, "N", "Rows of a step [256 for fewer than 100,000 training rows, else 1024]");
  group.add("--learning-rate", training.learning_rate, "N",
            "Of Adam [0.002 for mlp, 0.001 for sam, 0.0001 for ft-transformer]");
  group.choice("--schedule", flags.schedule, "KIND", train::names_of<train::Schedule>(),
               "Learning rate: constant, cosine, step or plateau");
  group.add("--weight-decay", training.weight_decay, "N", "Decoupled, per step [0; ft-transformer: 0.00001]");
  group.add("--embedding-rate", training.embedding_rate, "N", "Learning rate of the embeddings, times the other");
  group.add("--embedding-l2", training.embedding_l2, "N", "Weight of the squares of a step's embeddings in its loss");
  group.add("--token-dropout", training.token_dropout, "P",
            "Tokens that become the one of unseen values in training, so that it is learned");
  group.add("--clip", training.clip, "N", "Largest norm of the gradient, 0: any");
  group.add("--warm-up", training.warm_up, "N",
            "Epochs that fit the densities alone at first [natpn: 3, postnet: 1 when latent >= 32]");
  group.add("--fine-tune", training.fine_tune, "N", "Epochs that fit the densities alone in the end [natpn: 5]");
  group.add("--seed", training.seed, "N", "Of split, order, weights and dropout");
  group.add("--threads", training.num_threads, "N", "0 = all cores; the model is the same");
  add_device_flags(group, training.device, flags.network);
  group.add("--checkpoint-seconds", flags.save_seconds, "N", "Seconds between checkpoints inside an epoch");
  group.toggle("--resume", flags.resume, "Go on from the checkpoint in MODEL: give the same data and flags");
  group.toggle("--overwrite", flags.overwrite, "Replace the model in MODEL");
  add_frame_flags(verb, flags.read, features.categorical);
  verb.add_flag("--json", flags.json, "Print the result as JSON");
  verb.footer(
      "Example: limen train data.csv --label clicked --tau 3 --split 0.6,0.2,0.2 -o model\n"
      "         limen predict model data.csv --part holdout -o holdout.csv\n"
      "MODEL holds model.json, weights.safetensors, evidence.json where a law of evidence was found, rates.json where\n"
      "columns have many values, and training.jsonl, the log of the epochs.");
}

void add_device_flags(FlagGroup& group, std::string& device, std::string& network) {
  group.choice("--device", device, "D", {"cpu", "cuda"}, "cpu, or cuda where limen was built with a torch for it");
  group.choice("--network", network, "KIND", train::names_of<train::NetworkKind>(),
               "fused (fast, on cpu) or plain (tensor operations, any device): the same model but for rounding "
               "[fused on cpu, else plain]");
}

std::optional<train::NetworkKind> parse_network(const std::string& network) {
  if (network.empty()) return std::nullopt;
  return train::parse<train::NetworkKind>(network);
}

void settle(TrainFlags& flags) {
  apply_schema(flags);
  apply_preset(flags);
  check(flags);
  check_folder(flags);
  parse_words(flags);
}

}  // namespace limen::cli
