// SPDX-License-Identifier: MIT
// Trains a small network from rows in memory and fits a boundary on the rows that it has not seen.
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include "limen/fit.h"
#include "limen/train/table_parts.h"
#include "limen/train/train_table.h"

namespace train = limen::train;

namespace {

/// Customers; those who are older, or live in the second city, buy more often.
limen::Frame make_rows(std::size_t num_rows) {
  limen::NumberValues age, bought;
  limen::TextValues city = {.distinct = {"Bern", "Rome"}};
  std::mt19937 random(1);
  const auto below = [&](unsigned limit) { return static_cast<double>(random() % limit); };
  for (std::size_t row = 0; row < num_rows; ++row) {
    age.push_back(18 + below(60));
    city.code.push_back(static_cast<std::int32_t>(below(2)));
    bought.push_back(age.back() + 20 * city.code.back() + below(40) > 95 ? 1 : 0);
  }
  return {num_rows, {{"age", age}, {"city", city}, {"bought", bought}}};
}

}  // namespace

int main() {
  const limen::Frame rows = make_rows(4000);
  train::TrainTableOptions options;
  options.features.label = "bought";
  options.training.epochs = 20;
  options.rows.split = train::TableSplit{.fractions = {0.6, 0.4, 0}};  // training and hold-out
  const auto trained = train::train_table(train::frame_source("customers", rows), options);
  if (!trained.model) return 1;  // the loss was lost: trained.training.diverged says what to change
  std::printf("learned from %d rows, ROC AUC %.2f\n", static_cast<int>(trained.rows.learned), trained.training.roc_auc);

  // Score and uncertainty of the hold-out rows.
  const train::Model& model = *trained.model;
  const std::vector<train::Part> parts = train::parts_of_rows(model.card().split, rows, 0);
  std::vector<std::uint8_t> is_holdout;
  for (const auto part : parts) is_holdout.push_back(part == train::Part::kHoldout ? 1 : 0);
  train::FeatureRows holdout;
  train::add_rows(model.features().shape(), model.features().encode(rows), is_holdout, holdout);
  const train::Prediction prediction = model.predict(holdout);
  const std::vector<double> uncertainty = prediction.uncertainty(train::Uncertainty::kEntropy);

  limen::FitOptions fit;
  fit.levels = 3;
  const auto fitted = limen::fit_boundary({std::span(prediction.score), std::span(uncertainty), holdout.label, {}},
                                          limen::max_recall_at_precision(limen::parse_rational("0.8")), fit);
  if (!fitted.boundary) return 3;  // no boundary reaches 80% precision
  std::printf("recall %.2f at precision %.2f\n%s", fitted.boundary->holdout.recall(),
              fitted.boundary->holdout.precision(), limen::to_json(*fitted.boundary).c_str());
}
