// SPDX-License-Identifier: MIT
#include "uncertainty/evidence_choice.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "uncertainty/evidence_index.h"
#include "uncertainty/score_alone.h"

namespace limen::detail {
namespace {

constexpr std::size_t kPairsToExtend = 10;
constexpr std::size_t kFewestForAll = 4;
constexpr std::size_t kMostForAll = 12;
// Terms that were tried in a row and did not help, each a fit of the index: after so many nothing better is expected.
constexpr int kMostRejected = 8;
constexpr double kLeastSpread = 1e-6;

// Eigenvalues and vectors of [[a, b], [b, d]].
struct Eigen2 {
  std::array<double, 2> value;
  std::array<std::array<double, 2>, 2> vector;
};

Eigen2 eigen_of(double a, double b, double d) {
  const double angle = 0.5 * std::atan2(2 * b, a - d);
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  return {{a * c * c + 2 * b * c * s + d * s * s, a * s * s - 2 * b * c * s + d * c * c}, {{{c, s}, {-s, c}}}};
}

std::vector<double> information_weight(std::span<const double> probability) {
  std::vector<double> weight;
  weight.reserve(probability.size());
  for (const double p : probability) weight.push_back(p * (1 - p));
  return weight;
}

// A term with its figures on the rows.
struct Candidate {
  Term term;
  double mean = 0;
  double sd = 0;  // below kLeastSpread: it varies too little to say anything
  double chi_square = 0;

  [[nodiscard]] bool varies() const { return sd >= kLeastSpread; }
};

// The candidates of a choice, and their tests at the fit of the moment.
class Screening {
 public:
  Screening(TermCounts& counts, const ChoiceRows& rows, const EvidenceLawOptions& options)
      : counts_(counts), rows_(rows), options_(options) {}

  // All candidates, tested against the score alone.
  void look_at_all(const ScreeningTest& test);
  // Tests them anew.
  void look_again(const ScreeningTest& test) { run(test, 0); }
  // Those that vary.
  [[nodiscard]] std::vector<const Candidate*> found() const;
  [[nodiscard]] std::vector<double> standardised(const Candidate& candidate) const;

 private:
  void look(const ScreeningTest& test, std::vector<Term> terms);
  void run(const ScreeningTest& test, std::size_t first);
  void set_spread(Candidate& candidate) const;
  [[nodiscard]] std::vector<Term> best(std::size_t size, std::size_t most) const;

  TermCounts& counts_;
  const ChoiceRows& rows_;
  const EvidenceLawOptions& options_;
  std::vector<Candidate> candidates_;
};

void Screening::set_spread(Candidate& candidate) const {
  const std::span<const std::uint16_t> count = counts_.of(candidate.term);
  const std::span<const double> value = counts_.log_counts();
  double sum = 0;
  for (const std::size_t row : rows_.row) sum += value[count[row]];
  candidate.mean = sum / static_cast<double>(rows_.row.size());
  double squares = 0;
  for (const std::size_t row : rows_.row) {
    const double distance = value[count[row]] - candidate.mean;
    squares += distance * distance;
  }
  candidate.sd = std::sqrt(squares / static_cast<double>(rows_.row.size()));
}

// One term a task: each sums its rows in order.
void Screening::run(const ScreeningTest& test, std::size_t first) {
  tbb::parallel_for(first, candidates_.size(), [&](std::size_t at) {
    Candidate& candidate = candidates_[at];
    if (candidate.sd == 0) set_spread(candidate);
    if (!candidate.varies()) return;
    candidate.chi_square =
        test.chi_square(counts_.log_counts(), counts_.of(candidate.term), rows_.row, candidate.mean, candidate.sd);
  });
}

void Screening::look(const ScreeningTest& test, std::vector<Term> terms) {
  const std::size_t first = candidates_.size();
  std::ranges::sort(terms);
  for (Term& term : terms) {
    if (std::ranges::find(candidates_, term, &Candidate::term) == candidates_.end()) {
      candidates_.push_back({.term = std::move(term)});
    }
  }
  terms.clear();
  for (std::size_t at = first; at < candidates_.size(); ++at) terms.push_back(candidates_[at].term);
  counts_.count(terms);
  run(test, first);
}

// The best terms of so many columns. One that does not vary comes last but is one of them: all its cells may be above
// the cap, and finer ones below it.
std::vector<Term> Screening::best(std::size_t size, std::size_t most) const {
  std::vector<const Candidate*> of_size;
  for (const Candidate& candidate : candidates_) {
    if (candidate.term.size() == size) of_size.push_back(&candidate);
  }
  std::ranges::stable_sort(of_size, std::ranges::greater(), &Candidate::chi_square);
  std::vector<Term> terms;
  for (const Candidate* candidate : of_size) {
    if (terms.size() < most) terms.push_back(candidate->term);
  }
  return terms;
}

void Screening::look_at_all(const ScreeningTest& test) {
  const std::vector<std::size_t>& columns = counts_.columns();
  std::vector<Term> terms;
  for (const std::size_t column : columns) terms.push_back({column});
  look(test, terms);

  std::vector<std::size_t> top;
  for (const Term& term : best(1, static_cast<std::size_t>(options_.most_columns_in_pairs))) top.push_back(term[0]);
  std::ranges::sort(top);
  terms.clear();
  for (std::size_t first = 0; first < top.size(); ++first) {
    for (std::size_t second = first + 1; second < top.size(); ++second) terms.push_back({top[first], top[second]});
  }
  look(test, terms);

  terms.clear();
  for (const Term& pair : best(2, kPairsToExtend)) {
    for (const std::size_t column : top) {
      if (std::ranges::find(pair, column) != pair.end()) continue;
      Term triple = pair;
      triple.insert(std::ranges::upper_bound(triple, column), column);
      terms.push_back(std::move(triple));
    }
  }
  if (columns.size() >= kFewestForAll && columns.size() <= kMostForAll) {
    terms.push_back(columns);
    for (const std::size_t left_out : columns) {
      terms.push_back(columns);
      std::erase(terms.back(), left_out);
    }
  }
  std::ranges::sort(terms);
  const auto repeated = std::ranges::unique(terms);
  terms.erase(repeated.begin(), repeated.end());
  look(test, terms);
}

std::vector<const Candidate*> Screening::found() const {
  std::vector<const Candidate*> result;
  for (const Candidate& candidate : candidates_) {
    if (candidate.varies()) result.push_back(&candidate);
  }
  return result;
}

std::vector<double> Screening::standardised(const Candidate& candidate) const {
  const std::span<const std::uint16_t> count = counts_.of(candidate.term);
  std::vector<double> column;
  column.reserve(rows_.row.size());
  for (const std::size_t row : rows_.row) {
    column.push_back((counts_.log_counts()[count[row]] - candidate.mean) / candidate.sd);
  }
  return column;
}

// The best that is not in use: by chi-square, then fewer columns, then the order of columns. Null: none.
const Candidate* best_of(const std::vector<const Candidate*>& found, const std::vector<const Candidate*>& used) {
  const Candidate* best = nullptr;
  for (const Candidate* candidate : found) {
    if (std::ranges::find(used, candidate) != used.end()) continue;
    const auto rank = [](const Candidate* one) { return std::pair(-one->chi_square, one->term.size()); };
    if (best == nullptr || rank(candidate) < rank(best) ||
        (rank(candidate) == rank(best) && candidate->term < best->term)) {
      best = candidate;
    }
  }
  return best;
}

// The design of a further test, once terms are chosen: that of the score alone, what the index adds to it, and what
// other weights of its terms would.
RowMatrix extended(const RowMatrix& design, const IndexFit& index, const std::vector<std::vector<double>>& columns,
                   std::span<const double> f) {
  const std::size_t more = 2 + (columns.size() > 1 ? columns.size() : 0);
  RowMatrix result = {.num_columns = design.num_columns + more};
  result.values.reserve(f.size() * result.num_columns);
  for (std::size_t row = 0; row < f.size(); ++row) {
    result.values.insert(result.values.end(), design.row(row), design.row(row) + design.num_columns);
    result.values.push_back(index.h[row]);
    result.values.push_back(index.h[row] * f[row]);
    if (columns.size() < 2) continue;
    const double slope = index.coefficients[2] + index.coefficients[3] * f[row];
    for (const std::vector<double>& column : columns) result.values.push_back(column[row] * slope);
  }
  return result;
}

}  // namespace

ScreeningTest::ScreeningTest(const RowMatrix& design, std::span<const double> probability,
                             std::span<const std::uint8_t> label, std::span<const double> f)
    : f_(f),
      weighted_design_(design),
      weight_(information_weight(probability)),
      information_(weighted_products(design, weight_), design.num_columns) {
  residual_.reserve(label.size());
  for (std::size_t row = 0; row < label.size(); ++row) {
    residual_.push_back((label[row] != 0 ? 1.0 : 0.0) - probability[row]);
    double* const x = weighted_design_.row(row);
    for (std::size_t at = 0; at < design.num_columns; ++at) x[at] *= weight_[row];
  }
}

double ScreeningTest::chi_square(std::span<const double> values, std::span<const std::uint16_t> count,
                                 std::span<const std::size_t> row, double mean, double sd) const {
  const std::size_t columns = weighted_design_.num_columns;
  std::vector<double> cross(2 * columns, 0);  // X'Vc, then X'VcF
  double* const first = cross.data();
  double* const second = cross.data() + columns;
  double g00 = 0;
  double g01 = 0;
  double g11 = 0;
  std::array<double, 2> u = {0, 0};
  for (std::size_t at = 0; at < row.size(); ++at) {
    const double c = (values[count[row[at]]] - mean) / sd;
    const double cf = c * f_[at];
    const double* const x = weighted_design_.row(at);
    for (std::size_t column = 0; column < columns; ++column) {
      first[column] += x[column] * c;
      second[column] += x[column] * cf;
    }
    g00 += weight_[at] * c * c;
    g01 += weight_[at] * c * cf;
    g11 += weight_[at] * cf * cf;
    u[0] += residual_[at] * c;
    u[1] += residual_[at] * cf;
  }
  information_.forward(std::span(first, columns));
  information_.forward(std::span(second, columns));
  const auto product = [&](const double* one, const double* other) {
    return std::inner_product(one, one + columns, other, 0.0);
  };
  // Both directions are scaled to length 1, so that "a thousandth" means the same for both.
  const auto inverse = [](double square) { return square > 0 ? 1 / std::sqrt(square) : 0; };
  const std::array<double, 2> scale = {inverse(g00), inverse(g11)};
  const Eigen2 eigen = eigen_of((g00 - product(first, first)) * scale[0] * scale[0],
                                (g01 - product(first, second)) * scale[0] * scale[1],
                                (g11 - product(second, second)) * scale[1] * scale[1]);
  double sum = 0;
  for (std::size_t at = 0; at < 2; ++at) {
    if (!(eigen.value[at] > 1e-3)) continue;
    const double along = eigen.vector[at][0] * u[0] * scale[0] + eigen.vector[at][1] * u[1] * scale[1];
    sum += along * along / eigen.value[at];
  }
  return sum;
}

EvidenceChoice choose_terms(TermCounts& counts, const ChoiceRows& rows, const EvidenceLawOptions& options) {
  const ScoreAlone alone = fit_score_alone(rows.score, rows.label);
  const std::span<const double> f = alone.standardised;
  EvidenceChoice choice = {.curve = alone.curve};

  Screening screening(counts, rows, options);
  screening.look_at_all(ScreeningTest(alone.design, alone.probability, rows.label, f));
  const std::vector<const Candidate*> found = screening.found();
  choice.num_candidates = found.size();
  if (found.empty()) return choice;
  choice.chi_square = best_of(found, {})->chi_square;
  // A chi-square of 2 degrees is above x with probability exp(-x / 2).
  const auto number = static_cast<double>(found.size());
  const double cut = -2 * std::log(options.level / number);
  choice.p_value = std::min(1.0, number * std::exp(-choice.chi_square / 2));

  std::vector<const Candidate*> used;    // the chosen, and those that did not help
  std::vector<const Candidate*> chosen;  // in the order of choice
  std::vector<std::vector<double>> columns;
  std::optional<IndexFit> index;
  int rejected = 0;
  while (chosen.size() < static_cast<std::size_t>(options.most_terms) && rejected < kMostRejected) {
    const Candidate* const next = best_of(found, used);
    if (next == nullptr || next->chi_square < cut) break;
    used.push_back(next);
    columns.push_back(screening.standardised(*next));
    std::optional<IndexFit> with_next = fit_index(columns, f, rows.label);
    const bool helps = with_next && std::ranges::none_of(with_next->loading, [](double a) { return a <= 0; }) &&
                       (!index || with_next->log_likelihood - index->log_likelihood >= cut / 4);
    if (!helps) {
      columns.pop_back();
      ++rejected;
      continue;
    }
    rejected = 0;
    index = std::move(with_next);
    chosen.push_back(next);
    std::vector<double> probability;
    probability.reserve(f.size());
    for (std::size_t row = 0; row < f.size(); ++row) {
      const auto& [b0, b1, g0, g1] = index->coefficients;
      probability.push_back(sigmoid(b0 + b1 * f[row] + index->h[row] * (g0 + g1 * f[row])));
    }
    const RowMatrix design = extended(alone.design, *index, columns, f);
    screening.look_again(ScreeningTest(design, probability, rows.label, f));
  }
  if (!index) return choice;

  // h = sum_t loading_t (c_t - mean_t) / sd_t = (log n - mean) / sd.
  choice.coefficients = index->coefficients;
  double total = 0;
  for (std::size_t at = 0; at < chosen.size(); ++at) total += index->loading[at] / chosen[at]->sd;
  for (std::size_t at = 0; at < chosen.size(); ++at) {
    choice.terms.push_back(chosen[at]->term);
    choice.weight.push_back(index->loading[at] / chosen[at]->sd / total);
    choice.evidence_mean += choice.weight[at] * chosen[at]->mean;
  }
  choice.evidence_sd = 1 / total;
  return choice;
}

}  // namespace limen::detail
