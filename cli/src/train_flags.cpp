// SPDX-License-Identifier: MIT
#include "train_flags.h"

#include "limen/train/schema.h"

namespace limen::cli {

void add_train_flags(CLI::App& verb, TrainFlags& flags) {
  const auto names = [](const std::vector<std::string>& all) { return CLI::IsMember(all).description(""); };
  const auto list = [&](const char* flag, std::vector<std::string>& to, const char* help) {
    verb.add_option(flag, to, help)->type_name("A,B")->delimiter(',')->allow_extra_args(false);
  };
  verb.add_option("DATA", flags.data, "Table with features and label: one or more files")->required();
  verb.add_option("-o,--output", flags.output, "Folder of the model")->required()->type_name("MODEL");
  verb.add_option("--label", flags.features.label, "Column of the label")->type_name("COLUMN");
  add_label_flags(verb, flags.labels);
  list("--numeric", flags.features.numeric, "Columns of numbers; default: those that look like numbers");
  list("--date", flags.date, "Columns of dates; default: text that reads as dates");
  list("--drop", flags.features.drop, "Columns to leave out");
  verb.add_option("--schema", flags.schema, "Columns of a known data set: criteo or avazu")
      ->type_name("NAME")
      ->check(names(train::schema_presets()));
  verb.add_option("--scaling", flags.scaling, "Numbers: auto, linear or log")
      ->type_name("KIND")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "linear", "log"}).description(""));
  verb.add_option("--numeric-bins", flags.features.numeric_bins,
                  "Numbers also have a token, of at most so many bins of equally many rows; 0: none")
      ->type_name("N")
      ->capture_default_str();
  verb.add_option("--min-count", flags.features.min_count, "Categories seen fewer times share one token")
      ->type_name("N")
      ->capture_default_str();
  verb.add_option("--max-vocabulary", flags.features.max_vocabulary, "Columns of more categories are hashed")
      ->type_name("N")
      ->capture_default_str();

  const char* const rows = "Rows";
  verb.add_option("--split", flags.split, "Shares of training, hold-out and test; default: all rows are for training")
      ->type_name("A,B,C")
      ->group(rows);
  verb.add_option("--split-by-time", flags.split_by_time, "Training is the earliest part by this column")
      ->type_name("COLUMN")
      ->group(rows);
  verb.add_option("--tau", flags.tau, "Keep training negatives at rate 1/tau")
      ->type_name("T")
      ->capture_default_str()
      ->group(rows);
  verb.add_option("--validation", flags.validation, "Share of the training rows kept aside to choose the epoch")
      ->type_name("S")
      ->capture_default_str()
      ->group(rows);
  verb.add_option("--validation-data", flags.validation_data, "Other rows for that, at the natural rate")
      ->type_name("FILE")
      ->group(rows);

  const char* const network = "Network";
  train::EncoderOptions& encoder = flags.options.encoder;
  train::HeadOptions& head = flags.options.head;
  verb.add_option("--model", flags.model, "postnet, mc-dropout or ensemble")
      ->type_name("MODEL")
      ->capture_default_str()
      ->check(names(train::names_of<train::Head>()))
      ->group(network);
  verb.add_option("--encoder", flags.encoder, "mlp, sam or ft-transformer")
      ->type_name("KIND")
      ->capture_default_str()
      ->check(names(train::names_of<train::EncoderKind>()))
      ->group(network);
  verb.add_option("--hidden", encoder.hidden, "Widths of the layers of mlp, and behind sam")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("128,64")
      ->group(network);
  verb.add_option("--embedding", encoder.embedding, "Width of a category's embedding, or of a token")
      ->type_name("N")
      ->capture_default_str()
      ->group(network);
  verb.add_option("--dropout", encoder.dropout, "Share of units left out in training; mc-dropout: 0.2 when not given")
      ->type_name("P")
      ->capture_default_str()
      ->group(network);
  verb.add_option("--sam", flags.sam, "Variant of sam: 2a, 2e, 3a or 3e")
      ->type_name("KIND")
      ->capture_default_str()
      ->check(names(train::names_of<train::SamVariant>()))
      ->group(network);
  verb.add_flag("--no-residual", flags.no_residual, "sam: interactions alone")->group(network);
  verb.add_option("--blocks", encoder.blocks, "Blocks of ft-transformer, layers of sam 3a and 3e")
      ->type_name("N")
      ->capture_default_str()
      ->group(network);
  verb.add_option("--heads", encoder.heads, "Attention heads of ft-transformer")
      ->type_name("N")
      ->capture_default_str()
      ->group(network);
  verb.add_option("--gated", flags.gated, "Unit of ft-transformer: geglu or reglu")
      ->type_name("KIND")
      ->capture_default_str()
      ->check(names(train::names_of<train::GatedUnit>()))
      ->group(network);
  verb.add_option("--latent", head.latent, "postnet: dimension of the latent space")
      ->type_name("N")
      ->capture_default_str()
      ->group(network);
  verb.add_option("--flows", head.flows, "postnet: radial flows per class")
      ->type_name("N")
      ->capture_default_str()
      ->group(network);
  verb.add_flag("--batch-norm", head.batch_norm, "postnet: batch norm on the latent space")->group(network);
  verb.add_option("--prior", flags.prior, "postnet: prior counts of negatives and positives [1,1]")
      ->type_name("A,B")
      ->group(network);
  verb.add_option("--regularizer", head.regularizer, "postnet: weight of the entropy in the loss")
      ->type_name("R")
      ->capture_default_str()
      ->group(network);
  verb.add_option("--passes", head.passes, "mc-dropout: passes per prediction")
      ->type_name("N")
      ->capture_default_str()
      ->group(network);
  verb.add_option("--members", head.members, "ensemble: networks")
      ->type_name("N")
      ->capture_default_str()
      ->group(network);

  const char* const group = "Training";
  train::TrainOptions& training = flags.training;
  const auto number = [&](const char* flag, auto& to, const char* help) {
    verb.add_option(flag, to, help)->type_name("N")->capture_default_str()->group(group);
  };
  number("--epochs", training.epochs, "Most passes over the training rows");
  number("--patience", training.patience, "Epochs without better average precision before it stops");
  verb.add_option("--batch", training.batch, "Rows of a step [256 for fewer than 100,000 training rows, else 1024]")
      ->type_name("N")
      ->group(group);
  verb.add_option("--learning-rate", training.learning_rate, "Of Adam [0.002 for mlp, else 0.001]")
      ->type_name("N")
      ->group(group);
  verb.add_option("--schedule", flags.schedule, "Learning rate: constant, cosine or step")
      ->type_name("KIND")
      ->capture_default_str()
      ->check(names(train::names_of<train::Schedule>()))
      ->group(group);
  number("--weight-decay", training.weight_decay, "Decoupled, per step");
  number("--clip", training.clip, "Largest norm of the gradient, 0: any");
  verb.add_option("--warm-up", training.warm_up,
                  "Epochs that fit only postnet's densities [1 when latent >= 32, else 0]")
      ->type_name("N")
      ->group(group);
  number("--seed", training.seed, "Of split, order, weights and dropout");
  number("--threads", training.num_threads, "0 = all cores; the model is the same");
  verb.add_option("--device", training.device, "cpu; graphics processors are refused")
      ->type_name("D")
      ->capture_default_str()
      ->group(group);
  number("--checkpoint-seconds", flags.save_seconds, "Seconds between checkpoints inside an epoch");
  verb.add_flag("--resume", flags.resume, "Go on from the checkpoint in MODEL: give the same data and flags")
      ->group(group);
  verb.add_flag("--overwrite", flags.overwrite, "Replace the model in MODEL")->group(group);
  add_frame_flags(verb, flags.frame);
  verb.add_flag("--json", flags.json, "Print the result as JSON");
  verb.footer(
      "Example: limen train data.csv --label clicked --tau 3 --split 0.6,0.2,0.2 -o model\n"
      "         limen predict model data.csv --part holdout -o holdout.csv\n"
      "MODEL holds model.json, weights.safetensors and training.jsonl, the log of the epochs.");
}

}  // namespace limen::cli
