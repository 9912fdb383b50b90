// SPDX-License-Identifier: MIT
// train_table on rows in memory beside `limen train` on a file of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"
#include "limen/train/train_table.h"
#include "support/customers.h"
#include "support/temporary_folder.h"

namespace limen::train {
namespace {

using test::csv_of;
using test::customers;
using test::numbers_of;

struct Case {
  const char* name;
  std::vector<std::string> flags;
  TrainTableOptions options;  // that the flags stand for
};

/// What all cases have.
const std::vector<std::string> kFlags = {"--label", "bought", "--hidden",  "8", "--latent",        "2",
                                         "--flows", "2",      "--epochs",  "2", "--batch",         "64",
                                         "--seed",  "5",      "--threads", "1", "--learning-rate", "0.01"};
TrainTableOptions common_options() {
  TrainTableOptions options;
  options.features = {.label = "bought", .seed = 5, .num_threads = 1};
  options.model.encoder.hidden = {8};
  options.model.head.latent = 2;
  options.model.head.flows = 2;
  options.training = {.epochs = 2, .batch = 64, .learning_rate = 0.01, .seed = 5, .num_threads = 1};
  options.rows.seed = 5;
  return options;
}

std::vector<Case> cases(const test::TemporaryFolder& folder) {
  std::vector<Case> all;
  const auto add = [&](const char* name, const std::vector<std::string>& flags) -> TrainTableOptions& {
    all.push_back({name, flags, common_options()});
    return all.back().options;
  };
  add("plain", {});
  TrainTableOptions& random = add("random parts", {"--split", "0.6,0.2,0.2", "--tau", "3", "--validation", "0.2"});
  random.rows.split = TableSplit{};
  random.rows.tau = 3;
  random.rows.validation = ValidationShare{0.2};
  TrainTableOptions& time = add("by time", {"--split", "0.7,0.3", "--split-by-time", "day", "--drop", "id,day",
                                            "--model", "mc-dropout", "--dropout", "0.1"});
  time.rows.split = TableSplit{.fractions = {0.7, 0.3, 0}, .time_column = "day"};
  time.features.drop = {"id", "day"};
  time.model.head.kind = Head::kMcDropout;
  time.model.encoder.dropout = 0.1;
  const Frame later = customers(200, 3);
  TrainTableOptions& other = add("validation table", {"--validation-data", folder.write("later.csv", csv_of(later)),
                                                      "--categorical", "plan", "--numeric", "id"});
  other.rows.validation = frame_source("later", later);
  other.features.categorical = {"plan"};
  other.features.numeric = {"id"};
  TrainTableOptions& dropped = add("missing labels", {"--drop-missing", "--positive", "1", "--missing", "?"});
  dropped.rows.drop_missing = true;
  dropped.features.label_rule = positive_value("1");
  dropped.table.missing = {"?"};
  return all;
}

/// model.json but for what depends on the clock.
nlohmann::json card_of(const std::string& folder) {
  nlohmann::json card = nlohmann::json::parse(cli::test::file_text(folder + "/model.json"));
  for (nlohmann::json& epoch : card["history"]) {
    epoch.erase("seconds");
    epoch.erase("rows_per_second");
  }
  return card;
}

TEST(TrainTable, GivesTheModelOfTheProgramForTheSameRows) {
  const test::TemporaryFolder folder;
  for (const Case& at : cases(folder)) {
    SCOPED_TRACE(at.name);
    Frame frame = customers(600, 1);
    if (at.options.rows.drop_missing) numbers_of(frame, "bought")[77] = std::nan("");
    const std::string program = folder.path(std::string("program ") + at.name);
    std::vector<std::string> words = {"train", folder.write("shop.csv", csv_of(frame)), "-o", program};
    words.insert(words.end(), kFlags.begin(), kFlags.end());
    words.insert(words.end(), at.flags.begin(), at.flags.end());
    const std::string errors = folder.path("errors");
    ASSERT_EQ(cli::test::start_limen(words, "/dev/null", folder.path("out"), errors).wait(), 0)
        << cli::test::file_text(errors);

    const TrainTableResult result = train_table(frame_source("shop.csv", frame), at.options);
    const std::string library = folder.path(std::string("library ") + at.name);
    std::filesystem::create_directory(library);
    result.model.value().save(library);
    EXPECT_TRUE(cli::test::file_text(library + "/weights.safetensors") ==
                cli::test::file_text(program + "/weights.safetensors"));
    EXPECT_EQ(card_of(library), card_of(program));
  }
}

}  // namespace
}  // namespace limen::train
