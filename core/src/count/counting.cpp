// SPDX-License-Identifier: MIT
#include "count/counting.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

#include "count/ordered_key.h"
#include "limen/base/error.h"

namespace limen::detail {
namespace {

[[noreturn]] void refuse_answer(const char* why) {
  throw InvalidInput("fit_boundary",
                     std::string("the counts contradict each other (") + why +
                         "); the rows changed from one question to the next, or were counted wrongly",
                     Cause::kFileChanged);
}

}  // namespace

std::vector<CountCell> ask(const CountedRows& rows, const CountQuery& query) {
  std::vector<CountCell> cells = rows.count(query);
  const std::size_t num_groups = query.group_cuts.size() + 1;
  const bool distinct = !query.spans.empty();
  std::sort(cells.begin(), cells.end(), [](const CountCell& a, const CountCell& b) {
    return std::tie(a.group, a.bucket, a.least) < std::tie(b.group, b.bucket, b.least);
  });
  Counts sum;
  for (std::size_t at = 0; at < cells.size(); ++at) {
    CountCell& cell = cells[at];
    cell.least += 0.0;  // no -0
    cell.greatest += 0.0;
    const Counts& counts = cell.counts;
    if (counts.rows < 1 || counts.positives < 0 || counts.positives > counts.rows || counts.rows > rows.total.rows) {
      refuse_answer("a cell has impossible counts");
    }
    sum += counts;
    if (cell.group >= num_groups || cell.bucket > (distinct ? 0 : query.value_cuts.size())) {
      refuse_answer("a cell that was not asked for");
    }
    if (at > 0 && cells[at - 1].group == cell.group && cells[at - 1].bucket == cell.bucket &&
        (!distinct || cells[at - 1].least == cell.least)) {
      refuse_answer("a cell came twice");
    }
    if (distinct) {
      const bool wanted = std::any_of(query.spans.begin(), query.spans.end(), [&](const CountQuery::Span& span) {
        return span.group == cell.group && span.low <= cell.least && cell.least <= span.high;
      });
      if (!wanted || cell.least != cell.greatest) refuse_answer("a value that was not asked for");
    } else if (query.extremes) {
      const bool above = cell.bucket == 0 || cell.least >= query.value_cuts[cell.bucket - 1];
      const bool below = cell.bucket == query.value_cuts.size() || cell.greatest < query.value_cuts[cell.bucket];
      if (!above || !below || !(cell.least <= cell.greatest)) refuse_answer("a value outside of its bucket");
    }
  }
  if (!distinct && sum != rows.total) refuse_answer("not as many rows or positives as before");
  return cells;
}

std::vector<double> even_cuts(double low, double high, std::size_t parts) {
  const std::uint64_t first = ordered_key(low);
  const std::uint64_t span = ordered_key(high) - first;
  std::vector<double> cuts;
  const std::uint64_t most = std::min<std::uint64_t>(parts, span + (span < ~std::uint64_t{0} ? 1 : 0));
  for (std::uint64_t part = 1; part < most; ++part) {
    // span * part / most without overflow.
    const std::uint64_t offset = span / most * part + span % most * part / most;
    const double cut = value_of_key(first + offset);
    if (offset > 0 && (cuts.empty() || cut > cuts.back())) cuts.push_back(cut);
  }
  return cuts;
}

double next_above(double value) { return value_of_key(ordered_key(value) + 1); }

std::vector<ValueRun> runs_at(const CountedRows& rows, CountedColumn column, std::optional<double> other_from,
                              const std::vector<std::size_t>& ranks) {
  struct Piece {
    double least;
    double greatest;
    std::int64_t rows;
  };
  CountQuery query{.value = column};
  if (other_from) query.group_cuts = {*other_from};
  const std::size_t group = query.group_cuts.size();
  const Range<double> range = column == CountedColumn::kScore ? rows.score : rows.uncertainty;
  // Few rows are asked for value by value at once.
  if (rows.total.rows <= static_cast<std::int64_t>(kMostValues)) {
    query.spans.push_back({group, range.low, range.high});
  } else {
    query.value_cuts = even_cuts(range.low, range.high, kMostCuts);
  }
  std::vector<Piece> pieces;
  const auto pieces_of = [&](const std::vector<CountCell>& cells) {
    std::vector<Piece> found;
    for (const CountCell& cell : cells) {
      if (cell.group == group) found.push_back({cell.least, cell.greatest, cell.counts.rows});
    }
    return found;
  };
  pieces = pieces_of(ask(rows, query));
  for (;;) {
    // The pieces that hold a rank and more than one value.
    std::vector<std::size_t> open;
    std::int64_t open_rows = 0;
    std::size_t before = 0;
    for (std::size_t at = 0; at < pieces.size(); ++at) {
      const auto rank = std::lower_bound(ranks.begin(), ranks.end(), before);
      before += static_cast<std::size_t>(pieces[at].rows);
      if (rank == ranks.end() || *rank >= before || pieces[at].least == pieces[at].greatest) continue;
      open.push_back(at);
      open_rows += pieces[at].rows;
    }
    if (open.empty()) break;
    query.value_cuts.clear();
    query.spans.clear();
    if (open_rows <= static_cast<std::int64_t>(kMostValues)) {
      for (const std::size_t at : open) query.spans.push_back({group, pieces[at].least, pieces[at].greatest});
    } else {
      for (const std::size_t at : open) {
        query.value_cuts.push_back(pieces[at].least);
        const auto inside =
            even_cuts(pieces[at].least, pieces[at].greatest, std::max<std::size_t>(2, kMostCuts / open.size()));
        query.value_cuts.insert(query.value_cuts.end(), inside.begin(), inside.end());
        if (pieces[at].greatest < std::numeric_limits<double>::max()) {
          query.value_cuts.push_back(next_above(pieces[at].greatest));
        }
      }
      query.value_cuts.erase(std::unique(query.value_cuts.begin(), query.value_cuts.end()), query.value_cuts.end());
    }
    const std::vector<Piece> finer = pieces_of(ask(rows, query));
    std::vector<Piece> next;
    auto from = finer.begin();
    for (std::size_t at = 0; at < pieces.size(); ++at) {
      if (!std::binary_search(open.begin(), open.end(), at)) {
        next.push_back(pieces[at]);
        continue;
      }
      std::int64_t sum = 0;
      while (from != finer.end() && from->greatest < pieces[at].least) ++from;
      for (; from != finer.end() && from->greatest <= pieces[at].greatest; ++from) {
        next.push_back(*from);
        sum += from->rows;
      }
      if (sum != pieces[at].rows) refuse_answer("not as many rows as before");
    }
    pieces = std::move(next);
  }
  std::vector<ValueRun> runs;
  std::size_t before = 0;
  std::size_t at = 0;
  for (const std::size_t rank : ranks) {
    for (; at < pieces.size() && before + static_cast<std::size_t>(pieces[at].rows) <= rank; ++at) {
      before += static_cast<std::size_t>(pieces[at].rows);
    }
    if (at == pieces.size()) refuse_answer("fewer rows than before");
    ValueRun run{.value = pieces[at].least, .begin = before, .end = before + static_cast<std::size_t>(pieces[at].rows)};
    if (at > 0) run.previous = pieces[at - 1].greatest;
    if (at + 1 < pieces.size()) run.next = pieces[at + 1].least;
    runs.push_back(run);
  }
  return runs;
}

}  // namespace limen::detail
