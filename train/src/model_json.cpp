// SPDX-License-Identifier: MIT
#include "model_json.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "limen/base/error.h"

namespace limen::train {
namespace {

using detail::JsonFields;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostRows = std::int64_t{1} << 53;
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

int read_int(const JsonFields& fields, const char* key, std::int64_t least = 0, std::int64_t most = kMost) {
  return static_cast<int>(fields.integer(key, least, most));
}

/// All 64 bits count: as text, because JSON numbers of other programs have 53.
std::uint64_t read_word(const JsonFields& fields, const char* key) {
  const std::string text = fields.text(key);
  std::uint64_t word = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word);
  if (error != std::errc() || end != text.data() + text.size()) fields.refuse(key, "is no number in text");
  return word;
}

template <typename Choice>
Choice read_choice(const JsonFields& fields, const char* key) {
  try {
    return parse<Choice>(fields.text(key));
  } catch (const InvalidInput& error) {
    fields.refuse(key, error.what());
  }
}

template <std::size_t Size>
std::array<double, Size> read_numbers(const JsonFields& fields, const char* key) {
  const nlohmann::json& list = fields.list(key);
  if (list.size() != Size) fields.refuse(key, "has " + std::to_string(list.size()) + " numbers");
  std::array<double, Size> numbers = {};
  for (std::size_t at = 0; at < Size; ++at) {
    if (!list[at].is_number() || !std::isfinite(list[at].get<double>())) fields.refuse(key, "holds no number");
    numbers[at] = list[at].get<double>();
  }
  return numbers;
}

ModelOptions read_model(const JsonFields& fields) {
  ModelOptions options;
  options.head.kind = read_choice<Head>(fields, "head");
  options.encoder.kind = read_choice<EncoderKind>(fields, "encoder");
  options.encoder.embedding = read_int(fields, "embedding", 1, 65'536);
  options.encoder.hidden.clear();
  for (const nlohmann::json& width : fields.list("hidden")) {
    if (!width.is_number_integer() || width.get<std::int64_t>() < 1 || width.get<std::int64_t>() > 65'536 ||
        options.encoder.hidden.size() == 1000) {
      fields.refuse("hidden", "is no list of widths from 1 to 65536");
    }
    options.encoder.hidden.push_back(width.get<int>());
  }
  options.encoder.dropout = fields.number("dropout");
  options.encoder.attention_dropout = fields.number("attention_dropout");
  options.encoder.feed_forward_dropout = fields.number("feed_forward_dropout");
  options.encoder.sam = read_choice<SamVariant>(fields, "sam");
  options.encoder.residual = fields.flag("residual");
  options.encoder.blocks = read_int(fields, "blocks", 1, 65'536);
  options.encoder.heads = read_int(fields, "attention_heads", 1, 65'536);
  options.encoder.gated = read_choice<GatedUnit>(fields, "gated");
  options.head.latent = read_int(fields, "latent", 1, 65'536);
  options.head.flows = read_int(fields, "flows", 1, 65'536);
  options.head.batch_norm = fields.flag("batch_norm");
  options.head.prior = read_numbers<2>(fields, "prior");
  options.head.regularizer = fields.number("regularizer");
  options.head.budget = read_choice<Budget>(fields, "budget");
  options.head.passes = read_int(fields, "passes", 1, 65'536);
  if (!fields.is_null("members")) options.head.members = read_int(fields, "members", 1, 1000);
  return options;
}

TrainOptions read_training(const JsonFields& fields) {
  TrainOptions options;
  if (!fields.is_null("epochs")) options.epochs = read_int(fields, "epochs");
  if (!fields.is_null("batch")) options.batch = read_int(fields, "batch");
  if (!fields.is_null("learning_rate")) options.learning_rate = fields.number("learning_rate");
  options.schedule = read_choice<Schedule>(fields, "schedule");
  if (!fields.is_null("weight_decay")) options.weight_decay = fields.number("weight_decay");
  options.clip = fields.number("clip");
  options.token_dropout = fields.number("token_dropout");
  options.embedding_rate = fields.number("embedding_rate");
  options.embedding_l2 = fields.number("embedding_l2");
  if (!fields.is_null("warm_up")) options.warm_up = read_int(fields, "warm_up");
  if (!fields.is_null("fine_tune")) options.fine_tune = read_int(fields, "fine_tune");
  options.selection = read_choice<Selection>(fields, "selection");
  options.patience = read_int(fields, "patience");
  options.seed = read_word(fields, "seed");
  options.num_threads = read_int(fields, "threads", 0, 4096);
  options.device = fields.text("device");
  // Older models do not say; the weights are the same.
  if (fields.has("network") && !fields.is_null("network")) {
    options.network = read_choice<NetworkKind>(fields, "network");
  }
  return options;
}

Json to_json(const SplitUse& split) {
  Json json = {
      {"fractions", split.options.fractions}, {"tau", split.options.tau}, {"seed", std::to_string(split.options.seed)}};
  if (!split.time_column.empty()) {
    json["time_column"] = detail::text_json(split.time_column);
    json["time_format"] = split.time_format == DateFormat::kText ? "text" : "yymmddhh";
    json["holdout_from"] = split.cuts.holdout_from;
    json["test_from"] = split.cuts.test_from;
    if (split.validation_from) json["validation_from"] = *split.validation_from;
  }
  if (split.table) {
    json["table"] = {{"rows", split.table->rows},
                     {"columns", detail::texts_json(split.table->columns)},
                     {"hash", std::to_string(split.table->hash)}};
  }
  return json;
}

SplitUse read_split(const JsonFields& fields, bool has_time) {
  SplitUse split;
  split.options.fractions = read_numbers<3>(fields, "fractions");
  split.options.tau = fields.number("tau");
  split.options.seed = read_word(fields, "seed");
  validate(split.options);
  if (has_time) {
    split.time_column = fields.text("time_column");
    const std::string format = fields.text("time_format");
    if (format != "text" && format != "yymmddhh") fields.refuse("time_format", "is neither text nor yymmddhh");
    split.time_format = format == "text" ? DateFormat::kText : DateFormat::kYymmddhh;
    // A part without rows begins after all times, which JSON has no number for.
    const auto cut = [&](const char* key) {
      return fields.is_null(key) ? std::numeric_limits<double>::infinity() : fields.number(key);
    };
    split.cuts = {cut("holdout_from"), cut("test_from")};
    if (fields.has("validation_from")) split.validation_from = fields.number("validation_from");
  }
  if (fields.has("table")) {
    const JsonFields table = fields.object("table");
    split.table = {.rows = static_cast<std::uint64_t>(table.integer("rows", 0, kMostRows)),
                   .columns = table.texts("columns"),
                   .hash = read_word(table, "hash")};
  }
  return split;
}

}  // namespace

Json to_json(const ModelOptions& options) {
  const EncoderOptions& encoder = options.encoder;
  const HeadOptions& head = options.head;
  return {{"head", to_string(head.kind)},
          {"encoder", to_string(encoder.kind)},
          {"embedding", encoder.embedding ? Json(*encoder.embedding) : Json()},
          {"hidden", encoder.hidden},
          {"dropout", encoder.dropout},
          {"attention_dropout", encoder.attention_dropout},
          {"feed_forward_dropout", encoder.feed_forward_dropout},
          {"sam", to_string(encoder.sam)},
          {"residual", encoder.residual},
          {"blocks", encoder.blocks ? Json(*encoder.blocks) : Json()},
          {"attention_heads", encoder.heads ? Json(*encoder.heads) : Json()},
          {"gated", to_string(encoder.gated)},
          {"latent", head.latent},
          {"flows", head.flows},
          {"batch_norm", head.batch_norm},
          {"prior", head.prior},
          {"regularizer", head.regularizer},
          {"budget", to_string(head.budget)},
          {"passes", head.passes},
          {"members", head.members ? Json(*head.members) : Json()}};
}

Json to_json(const TrainOptions& options, bool machine) {
  Json json = {{"epochs", options.epochs ? Json(*options.epochs) : Json()},
               {"batch", options.batch ? Json(*options.batch) : Json()},
               {"learning_rate", options.learning_rate ? Json(*options.learning_rate) : Json()},
               {"schedule", to_string(options.schedule)},
               {"weight_decay", options.weight_decay ? Json(*options.weight_decay) : Json()},
               {"clip", options.clip},
               {"token_dropout", options.token_dropout},
               {"embedding_rate", options.embedding_rate},
               {"embedding_l2", options.embedding_l2},
               {"warm_up", options.warm_up ? Json(*options.warm_up) : Json()},
               {"fine_tune", options.fine_tune ? Json(*options.fine_tune) : Json()},
               {"selection", to_string(options.selection)},
               {"patience", options.patience},
               {"seed", std::to_string(options.seed)}};
  if (machine) {
    json["threads"] = options.num_threads;
    json["device"] = options.device;
    json["network"] = options.network ? Json(to_string(*options.network)) : Json();
  }
  return json;
}

Json to_json(const EpochReport& report) {
  return {{"member", report.member},          {"epoch", report.epoch},
          {"stage", to_string(report.stage)}, {"loss", report.loss},
          {"log_loss", report.log_loss},      {"average_precision", report.average_precision},
          {"roc_auc", report.roc_auc},        {"is_best", report.is_best},
          {"seconds", report.seconds},        {"rows_per_second", report.rows_per_second}};
}

std::string to_json_line(const EpochReport& report) { return to_json(report).dump(); }

EpochReport read_epoch_report(const JsonFields& fields) {
  EpochReport report;
  report.member = read_int(fields, "member");
  report.epoch = read_int(fields, "epoch", 1);
  report.stage = read_choice<Stage>(fields, "stage");
  report.loss = fields.number("loss");
  report.log_loss = fields.number("log_loss");
  report.average_precision = fields.number("average_precision");
  report.roc_auc = fields.number("roc_auc");
  report.is_best = fields.flag("is_best");
  report.seconds = fields.number("seconds");
  report.rows_per_second = fields.number("rows_per_second");
  return report;
}

Json to_json(const ModelCard& card) {
  Json json;
  json["model"] = to_json(card.model);
  json["training"] = to_json(card.training, true);
  json["table"] = {{"separator", card.table.separator},
                   {"has_header", card.table.has_header},
                   {"names", detail::texts_json(card.table.names)},
                   {"missing", detail::texts_json(card.table.missing)}};
  json["split"] = card.split ? to_json(*card.split) : Json();
  json["metrics"] = {{"training_negatives", card.class_counts[0]},
                     {"training_positives", card.class_counts[1]},
                     {"unseen_rows", card.unseen_rows},
                     {"validation_rows", card.validation_rows},
                     {"average_precision", card.average_precision},
                     {"roc_auc", card.roc_auc},
                     {"networks", card.members}};
  json["law"] = detail::text_json(card.law);
  if (card.uncertainty) {
    Json tested = Json::array();
    for (const TestedUncertainty& test : card.uncertainty->tested) {
      tested.push_back({{"name", to_string(test.kind)}, {"p_value", test.p_value}});
    }
    json["uncertainty"] = {{"name", to_string(card.uncertainty->kind)},
                           {"tested", std::move(tested)},
                           {"why", detail::text_json(card.uncertainty->why)}};
  }
  json["history"] = Json::array();
  for (const EpochReport& report : card.history) json["history"].push_back(to_json(report));
  return json;
}

ModelCard read_card(const JsonFields& fields) {
  ModelCard card;
  card.model = read_model(fields.object("model"));
  card.training = read_training(fields.object("training"));
  const JsonFields table = fields.object("table");
  card.table.separator = table.text("separator");
  if (card.table.separator.size() > 1) table.refuse("separator", "is more than one character");
  card.table.has_header = table.flag("has_header");
  card.table.names = table.texts("names");
  card.table.missing = table.texts("missing");
  if (!fields.is_null("split")) {
    const JsonFields split = fields.object("split");
    card.split = read_split(split, split.has("time_column"));
  }
  const JsonFields metrics = fields.object("metrics");
  card.class_counts = {metrics.number("training_negatives"), metrics.number("training_positives")};
  for (const nlohmann::json& rows : metrics.list("unseen_rows")) {
    if (!rows.is_number() || !(rows.get<double>() >= 0)) metrics.refuse("unseen_rows", "is no list of counts");
    card.unseen_rows.push_back(rows.get<double>());
  }
  card.validation_rows = static_cast<std::size_t>(metrics.integer("validation_rows", 0, kMostRows));
  card.average_precision = metrics.number("average_precision");
  card.roc_auc = metrics.number("roc_auc");
  card.members = read_int(metrics, "networks", 1, 1000);
  card.law = fields.text("law");
  if (fields.has("uncertainty")) {
    const JsonFields choice = fields.object("uncertainty");
    card.uncertainty = {.kind = read_choice<Uncertainty>(choice, "name"), .why = choice.text("why")};
    for (const nlohmann::json& test : choice.list("tested")) {
      if (!test.is_object()) choice.refuse("tested", "is no list of objects");
      const JsonFields each(test, "model.json", "uncertainty.tested.");
      card.uncertainty->tested.push_back({read_choice<Uncertainty>(each, "name"), each.number("p_value")});
    }
  }
  for (const nlohmann::json& report : fields.list("history")) {
    if (!report.is_object()) fields.refuse("history", "is no list of objects");
    card.history.push_back(read_epoch_report(JsonFields(report, "model.json", "history.")));
  }
  return card;
}

}  // namespace limen::train
