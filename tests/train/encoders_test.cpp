// SPDX-License-Identifier: MIT
// Encoders and tables against slow and obvious versions in double precision. Gradients: plain_network_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "encoder.h"

namespace {

using limen::CounterRandom;
using namespace limen::train;
using Matrix = std::vector<std::vector<double>>;

// Three rows of two numbers and two categories; in the second shape the first category has the knots of the second
// number.
const std::vector<FeatureShape> kShapes = {{2, {3, 5}}, {2, {3, 5}, {{1, 0}}}};
const std::vector<float> kNumeric = {0.5F, -1.0F, 2.0F, 0.25F, -0.75F, 1.5F};
const std::vector<std::int32_t> kCategorical = {0, 4, 1, 1, 2, 4};
const std::vector<float> kFraction = {0.75F, -0.5F, 0.0F};
const ChunkInput kInput = {3, kNumeric.data(), kCategorical.data(), kFraction.data()};
constexpr int kOutputs = 2;

struct Built {
  Parameters parameters = {};
  EmbeddingTables tables = {};
  FeatureShape shape = {};
  std::unique_ptr<Encoder> encoder = {};

  explicit Built(const EncoderOptions& options, FeatureShape of_shape)
      : shape(std::move(of_shape)), encoder(make_encoder(shape, options, kOutputs, 5, parameters, tables)) {
    make_torch_serial();
    // Away from the zeros that some weights start at.
    CounterRandom random(6, 0);
    for (float& value : parameters.value) value += static_cast<float>(0.2 * random.normal());
  }
  [[nodiscard]] std::vector<float> forward(const Dropout& dropout = {}) const {
    std::vector<float> out(3 * kOutputs);
    encoder->forward(parameters, tables, kInput, dropout, false, *encoder->make_workspace(3), out.data());
    return out;
  }
  // A weight by name, rows x columns (a vector: one row).
  [[nodiscard]] Matrix weight(const std::string& name) const {
    for (const Parameter& parameter : parameters.list) {
      if (parameter.name != name) continue;
      const auto columns = static_cast<std::size_t>(parameter.shape.back());
      Matrix matrix(parameter.size / columns, std::vector<double>(columns));
      for (std::size_t at = 0; at < parameter.size; ++at) {
        matrix[at / columns][at % columns] = static_cast<double>(parameters.value[parameter.offset + at]);
      }
      return matrix;
    }
    ADD_FAILURE() << "no weight " << name;
    return {};
  }
  [[nodiscard]] std::vector<double> token_vector(std::size_t row, std::size_t feature) const {
    const EmbeddingTables::Table& table = tables.tables()[feature];
    const auto token = static_cast<std::size_t>(kCategorical[2 * row + feature]);
    const float* from = &tables.value[table.offset + token * table.width];
    std::vector<double> vector(from, from + table.width);
    const double fraction = has_knots(feature) ? static_cast<double>(kFraction[row]) : 0;
    for (std::size_t d = 0; fraction != 0 && d < table.width; ++d) {
      vector[d] = (1 - fraction) * vector[d] + fraction * static_cast<double>(from[table.width + d]);
    }
    return vector;
  }
  [[nodiscard]] bool has_knots(std::size_t feature) const { return feature == 0 && !shape.knots.empty(); }
  // The tokens of the attention encoders.
  [[nodiscard]] Matrix tokens(std::size_t row, bool bias) const {
    Matrix tokens;
    for (std::size_t feature = 0; feature < 2; ++feature) {
      std::vector<double> token = weight("token.shift")[feature];
      for (std::size_t d = 0; d < token.size(); ++d) {
        token[d] += static_cast<double>(kNumeric[2 * row + feature]) * weight("token.scale")[feature][d];
        if (feature == 1 && !shape.knots.empty()) token[d] += token_vector(row, 0)[d];
      }
      tokens.push_back(token);
    }
    const std::size_t first = shape.knots.size();
    for (std::size_t feature = first; feature < 2; ++feature) {
      std::vector<double> token = token_vector(row, feature);
      for (std::size_t d = 0; bias && d < token.size(); ++d) token[d] += weight("token.bias")[feature - first][d];
      tokens.push_back(token);
    }
    return tokens;
  }
  // x W + b.
  [[nodiscard]] std::vector<double> linear(const std::string& name, const std::vector<double>& x) const {
    const Matrix w = weight(name + ".weight");
    std::vector<double> out = weight(name + ".bias")[0];
    EXPECT_EQ(w.size(), x.size()) << name;
    for (std::size_t in = 0; in < x.size(); ++in) {
      for (std::size_t at = 0; at < out.size(); ++at) out[at] += x[in] * w[in][at];
    }
    return out;
  }
  [[nodiscard]] std::vector<double> norm(const std::string& name, const std::vector<double>& x) const {
    double mean = 0;
    double square = 0;
    for (const double value : x) mean += value / static_cast<double>(x.size());
    for (const double value : x) square += (value - mean) * (value - mean) / static_cast<double>(x.size());
    std::vector<double> out = weight(name + ".shift")[0];
    for (std::size_t d = 0; d < x.size(); ++d) {
      out[d] += (1 + weight(name + ".scale")[0][d]) * (x[d] - mean) / std::sqrt(square + 1e-5);
    }
    return out;
  }
};

double dot(const std::vector<double>& left, const std::vector<double>& right) {
  double sum = 0;
  for (std::size_t d = 0; d < left.size(); ++d) sum += left[d] * right[d];
  return sum;
}

std::vector<double> times(const std::vector<double>& x, const Matrix& w) {
  std::vector<double> out(w[0].size(), 0.0);
  for (std::size_t in = 0; in < x.size(); ++in) {
    for (std::size_t at = 0; at < out.size(); ++at) out[at] += x[in] * w[in][at];
  }
  return out;
}

std::vector<double> relu(std::vector<double> x) {
  for (double& value : x) value = std::max(value, 0.0);
  return x;
}

void expect_row(const std::vector<float>& out, std::size_t row, const std::vector<double>& expected) {
  for (std::size_t at = 0; at < kOutputs; ++at) {
    EXPECT_NEAR(out[row * kOutputs + at], expected[at], 1e-5 * std::max(1.0, std::abs(expected[at]))) << row;
  }
}

EncoderOptions small_options(EncoderKind kind) {
  EncoderOptions options;
  options.kind = kind;
  options.embedding = 4;
  options.blocks = 2;
  options.heads = 4;
  options.hidden = {6};
  return options;
}

TEST(Mlp, IsLayersOfTheVectorsAndNumbers) {
  for (const FeatureShape& shape : kShapes) {
    const Built built(small_options(EncoderKind::kMlp), shape);
    const std::vector<float> out = built.forward();
    for (std::size_t row = 0; row < 3; ++row) {
      std::vector<double> x = built.token_vector(row, 0);
      for (const double value : built.token_vector(row, 1)) x.push_back(value);
      x.push_back(static_cast<double>(kNumeric[2 * row]));
      x.push_back(static_cast<double>(kNumeric[2 * row + 1]));
      expect_row(out, row, built.linear("layer.1", relu(built.linear("layer.0", x))));
    }
  }
}

class EverySam : public testing::TestWithParam<std::tuple<SamVariant, bool, FeatureShape>> {};
INSTANTIATE_TEST_SUITE_P(, EverySam,
                         testing::Combine(testing::Values(SamVariant::k2A, SamVariant::k2E, SamVariant::k3A,
                                                          SamVariant::k3E),
                                          testing::Bool(), testing::ValuesIn(kShapes)));

TEST_P(EverySam, FollowsItsFormula) {
  EncoderOptions options = small_options(EncoderKind::kSam);
  options.sam = std::get<0>(GetParam());
  options.residual = std::get<1>(GetParam());
  const Built built(options, std::get<2>(GetParam()));
  const std::vector<float> out = built.forward();
  for (std::size_t row = 0; row < 3; ++row) {
    Matrix f = built.tokens(row, false);
    const std::size_t n = f.size();
    ASSERT_EQ(n, built.shape.knots.empty() ? 4U : 3U);
    std::vector<double> x;
    if (options.sam == SamVariant::k2A || options.sam == SamVariant::k2E) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i; j < n; ++j) {
          const double s = dot(f[i], f[j]);
          if (options.sam == SamVariant::k2A) x.push_back(s);
          for (std::size_t d = 0; options.sam == SamVariant::k2E && d < 4; ++d) x.push_back(s * f[i][d] * f[j][d]);
        }
      }
      for (const auto& token : f) {
        if (options.residual) x.insert(x.end(), token.begin(), token.end());
      }
    } else {
      for (int block = 0; block < options.blocks; ++block) {
        const std::string name = "sam." + std::to_string(block);
        Matrix next;
        for (std::size_t i = 0; i < n; ++i) {
          std::vector<double> sum(4, 0.0);
          if (options.residual) sum = times(f[i], built.weight(name + ".query"));
          for (std::size_t j = 0; j < n; ++j) {
            const double s = dot(f[i], times(f[j], built.weight(name + ".key")));
            for (std::size_t d = 0; d < 4; ++d) {
              sum[d] +=
                  s * (options.sam == SamVariant::k3A ? built.weight(name + ".pair")[n * i + j][d] : f[i][d] * f[j][d]);
            }
          }
          next.push_back(sum);
        }
        f = next;
      }
      for (const auto& token : f) x.insert(x.end(), token.begin(), token.end());
    }
    expect_row(out, row, built.linear("layer.1", relu(built.linear("layer.0", x))));
  }
}

class EveryGate : public testing::TestWithParam<std::tuple<GatedUnit, FeatureShape>> {};
INSTANTIATE_TEST_SUITE_P(, EveryGate,
                         testing::Combine(testing::Values(GatedUnit::kGeglu, GatedUnit::kReglu),
                                          testing::ValuesIn(kShapes)));

TEST_P(EveryGate, FtTransformerFollowsItsFormula) {
  EncoderOptions options = small_options(EncoderKind::kFtTransformer);
  options.heads = 2;
  options.gated = std::get<0>(GetParam());
  const Built built(options, std::get<1>(GetParam()));
  const std::vector<float> out = built.forward();
  for (std::size_t row = 0; row < 3; ++row) {
    Matrix x = built.tokens(row, true);
    x.insert(x.begin(), built.weight("token.cls")[0]);
    for (int at = 0; at < options.blocks; ++at) {
      const std::string name = "block." + std::to_string(at);
      Matrix qkv;
      // As in rtdl: nothing is normalised before the first attention.
      for (const auto& token : x) {
        qkv.push_back(built.linear(name + ".query_key_value", at > 0 ? built.norm(name + ".norm.0", token) : token));
      }
      Matrix attended(x.size(), std::vector<double>(4, 0.0));
      for (std::size_t head = 0; head < 2; ++head) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          std::vector<double> weight;
          double total = 0;
          for (std::size_t j = 0; j < x.size(); ++j) {
            double s = 0;
            for (std::size_t d = 0; d < 2; ++d) s += qkv[i][2 * head + d] * qkv[j][4 + 2 * head + d];
            weight.push_back(std::exp(s / std::sqrt(2.0)));
            total += weight.back();
          }
          for (std::size_t j = 0; j < x.size(); ++j) {
            for (std::size_t d = 0; d < 2; ++d)
              attended[i][2 * head + d] += weight[j] / total * qkv[j][8 + 2 * head + d];
          }
        }
      }
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::vector<double> joined = built.linear(name + ".join", attended[i]);
        for (std::size_t d = 0; d < 4; ++d) x[i][d] += joined[d];
        const std::vector<double> up = built.linear(name + ".up", built.norm(name + ".norm.1", x[i]));
        ASSERT_EQ(up.size(), 10U);  // 2 floor(16 / 3)
        std::vector<double> gated;
        for (std::size_t d = 0; d < 5; ++d) {
          const double b = up[5 + d];
          gated.push_back(up[d] * (options.gated == GatedUnit::kReglu ? std::max(b, 0.0)
                                                                      : 0.5 * b * (1 + std::erf(b / std::sqrt(2.0)))));
        }
        const std::vector<double> down = built.linear(name + ".down", gated);
        for (std::size_t d = 0; d < 4; ++d) x[i][d] += down[d];
      }
    }
    expect_row(out, row, built.linear("layer.out", relu(built.norm("norm.out", x[0]))));
  }
}

TEST(EmbeddingTables, AdamOfARowCountsItsOwnSteps) {
  const FeatureShape shape = {1, {4, 9}, {{0, 1}}};
  const std::vector<std::int32_t>& tokens = shape.num_tokens;
  const std::vector<int> widths = {4, 3};
  EmbeddingTables tables(shape, widths, 1.0, 1);
  // Adam in double, a clock for each number, which stands where a token is not in the batch. The second feature has
  // knots: a row's gradient goes to two tokens.
  std::vector<double> value(tables.value.begin(), tables.value.end());
  std::vector<double> first(value.size(), 0.0);
  std::vector<double> second(value.size(), 0.0);
  std::vector<int> clock(value.size(), 0);
  CounterRandom random(2, 0);
  for (int step = 0; step < 20; ++step) {
    constexpr std::size_t kRows = 6;
    std::vector<std::int32_t> batch;
    std::vector<float> fractions;
    std::vector<float> gradient;
    std::map<std::size_t, double> sums;
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t feature = 0; feature < 2; ++feature) {
        batch.push_back(static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(tokens[feature])));
        const EmbeddingTables::Table& table = tables.tables()[feature];
        float fraction = 0;
        if (feature == 1) {
          if (batch.back() + 1 < tokens[1]) fraction = static_cast<float>(3 * random.uniform() - 1);
          fractions.push_back(fraction);
        }
        for (std::size_t d = 0; d < table.width; ++d) {
          gradient.push_back(static_cast<float>(random.normal()));
          const std::size_t at = table.offset + static_cast<std::size_t>(batch.back()) * table.width + d;
          const auto whole = static_cast<double>(gradient.back());
          sums[at] += (1 - static_cast<double>(fraction)) * whole;
          if (fraction != 0) sums[at + table.width] += static_cast<double>(fraction) * whole;
        }
      }
    }
    double squares = 0;
    for (std::size_t feature = 0; feature < 2; ++feature)
      squares += tables.reduce(feature, batch.data(), fractions.data(), gradient.data(), kRows);
    double expected_squares = 0;
    for (const auto& [at, sum] : sums) expected_squares += sum * sum;
    EXPECT_NEAR(squares, expected_squares, 1e-5 * expected_squares);
    for (std::size_t feature = 0; feature < 2; ++feature) tables.step(feature, {0.01, 0.1, 0.5});
    for (const auto& [at, sum] : sums) {
      const double g = 0.5 * sum + 0.1 * value[at];
      first[at] = 0.9 * first[at] + 0.1 * g;
      second[at] = 0.999 * second[at] + 0.001 * g * g;
      ++clock[at];
      const double m = first[at] / (1 - std::pow(0.9, clock[at]));
      const double v = second[at] / (1 - std::pow(0.999, clock[at]));
      // A token that is met for the first time moves by the learning rate, however late.
      if (clock[at] == 1) {
        EXPECT_NEAR(std::abs(tables.value[at] - value[at]), 0.01, 1e-4);
      }
      value[at] -= 0.01 * m / (std::sqrt(v) + 1e-8);
    }
    for (std::size_t at = 0; at < value.size(); ++at) {
      EXPECT_NEAR(tables.value[at], value[at], 2e-5) << step << " " << at;
      if (sums.count(at) == 0 && step == 0) {
        EXPECT_EQ(tables.first[at], 0.0F);
      }
    }
  }
}

TEST(EmbeddingWidth, IsNoWiderThanTheVocabulary) {
  EXPECT_EQ(embedding_width(1, 16), 4);
  EXPECT_EQ(embedding_width(4, 16), 4);
  EXPECT_EQ(embedding_width(5, 16), 8);
  EXPECT_EQ(embedding_width(17, 16), 16);
  EXPECT_EQ(embedding_width(2'000'000'000, 10), 10);
}

TEST(Dropout, LeavesOutTheRateAndKeepsTheExpectation) {
  const Dropout dropout = {.on = true, .rate = 0.25, .seed = 3, .chunk = 1};
  std::vector<float> mask(40001);
  dropout.fill(0, mask.data(), 1, mask.size());
  double sum = 0;
  for (const float value : mask) sum += static_cast<double>(value);
  // Deviation of the mean: sqrt(0.25 / 0.75 / 40001) = 0.0029.
  EXPECT_NEAR(sum / static_cast<double>(mask.size()), 1, 0.012);
  EXPECT_NEAR(dropout.scale(), 4.0 / 3, 1e-6);
  EXPECT_FALSE(Dropout{}.active());
}

TEST(Dropout, CanBeTheSameForAllRows) {
  std::vector<float> one(50);
  std::vector<float> all(200);
  Dropout dropout = {.on = true, .rate = 0.25, .seed = 3, .chunk = 1, .same_for_all_rows = true};
  dropout.fill(2, one.data(), 1, 50);
  dropout.fill(2, all.data(), 4, 50);
  for (std::size_t at = 0; at < all.size(); ++at) EXPECT_EQ(all[at], one[at % 50]) << at;
  dropout.same_for_all_rows = false;
  dropout.fill(2, all.data(), 4, 50);
  EXPECT_FALSE(std::equal(one.begin(), one.end(), all.begin() + 50));
}

}  // namespace
