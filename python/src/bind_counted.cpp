// SPDX-License-Identifier: MIT
#include "bind.h"
#include "limen/base/error.h"
#include "limen/count/count_sql.h"
#include "limen/count/counted_rows.h"
#include "limen/promise/binomial.h"
#include "limen/promise/certify.h"

namespace limen::python {
namespace {

/// group, bucket, rows, positives, least, greatest
using Cell = std::tuple<std::size_t, std::size_t, std::int64_t, std::int64_t, double, double>;
/// rows, positives, score and uncertainty from ... to ...
using Overview = std::tuple<std::int64_t, std::int64_t, double, double, double, double>;

std::string_view column_name(CountedColumn column) { return column == CountedColumn::kScore ? "score" : "uncertainty"; }

/// count(query) is called with the GIL, from the thread that asks.
CountedRows counted_rows(const Overview& overview, const nb::callable& count) {
  CountedRows rows;
  rows.total = {std::get<0>(overview), std::get<1>(overview)};
  rows.score = {std::get<2>(overview), std::get<3>(overview)};
  rows.uncertainty = {std::get<4>(overview), std::get<5>(overview)};
  rows.count = [&count](const CountQuery& query) {
    const nb::gil_scoped_acquire acquire;
    std::vector<CountCell> cells;
    for (const Cell& cell : nb::cast<std::vector<Cell>>(count(query))) {
      const auto& [group, bucket, size, positives, least, greatest] = cell;
      cells.push_back({group, bucket, {size, positives}, least, greatest});
    }
    return cells;
  };
  return rows;
}

nb::tuple fit_counted(const Overview& overview, const nb::callable& count, const std::string& goal,
                      const std::vector<Fraction>& numbers, const std::string& method, std::optional<int> levels,
                      const std::string& levels_from, int num_threads) {
  FitOptions options = fit_options(method, levels, std::nullopt, "equi-weight", num_threads);
  options.levels_from = parse_levels_from(levels_from);
  const Objective objective = objective_of(goal, numbers);
  const CountedRows rows = counted_rows(overview, count);
  FitResult result = without_gil([&] { return fit_boundary(rows, objective, options); });
  return nb::make_tuple(std::move(result.boundary), result.solution.best_attainable, result.levels_used);
}

nb::tuple certify_counted(const Overview& overview, const nb::callable& count, const std::string& goal,
                          const std::vector<Fraction>& numbers, const std::string& method, std::optional<int> levels,
                          const std::string& levels_from, double confidence, std::uint64_t seed, int num_threads) {
  CertifyOptions options;
  options.method = parse_method(method);
  options.levels = levels;
  options.levels_from = parse_levels_from(levels_from);
  options.confidence = confidence;
  options.seed = seed;
  options.num_threads = num_threads;
  const Objective objective = objective_of(goal, numbers);
  const CountedRows rows = counted_rows(overview, count);
  Certification found = without_gil([&] { return certify(rows, objective, options); });
  nb::dict report;
  report["method"] = std::string(to_string(found.method));
  report["tested_rows"] = found.tested.rows;
  report["attainable"] = found.attainable;
  report["rows_needed"] = found.rows_needed;
  return nb::make_tuple(std::move(found.boundary), report);
}

SqlRows sql_rows(const std::string& from, const std::string& score, const std::string& uncertainty,
                 const std::string& label, const std::string& label_kind, const std::optional<std::string>& positive,
                 bool drop_missing, const std::string& dialect) {
  return {
      from, score, uncertainty, label, parse_sql_label(label_kind), positive, drop_missing, parse_sql_dialect(dialect)};
}

}  // namespace

void bind_counted(nb::module_& module) {
  nb::class_<CountQuery>(module, "CountQuery")
      .def_prop_ro("value", [](const CountQuery& query) { return std::string(column_name(query.value)); })
      .def_ro("group_cuts", &CountQuery::group_cuts)
      .def_ro("value_cuts", &CountQuery::value_cuts)
      .def_ro("extremes", &CountQuery::extremes)
      .def_prop_ro("spans", [](const CountQuery& query) {
        std::vector<std::tuple<std::size_t, double, double>> spans;
        for (const CountQuery::Span& span : query.spans) spans.emplace_back(span.group, span.low, span.high);
        return spans;
      });
  nb::class_<SqlRows>(module, "SqlRows")
      .def(
          "__init__",
          [](SqlRows* self, const std::string& from, const std::string& score, const std::string& uncertainty,
             const std::string& label, const std::string& label_kind, const std::optional<std::string>& positive,
             bool drop_missing, const std::string& dialect) {
            new (self) SqlRows(sql_rows(from, score, uncertainty, label, label_kind, positive, drop_missing, dialect));
          },
          nb::arg("from_"), nb::arg("score"), nb::arg("uncertainty"), nb::arg("label"), nb::arg("label_kind"),
          nb::arg("positive").none(), nb::arg("drop_missing"), nb::arg("dialect"))
      .def("probe", [](const SqlRows& rows) { return sql_probe(rows); })
      .def("source", [](const SqlRows& rows) { return sql_source(rows); })
      .def("overview", [](const SqlRows& rows) { return sql_overview(rows); })
      .def(
          "count", [](const SqlRows& rows, const CountQuery& query) { return sql_of(query, rows); }, nb::arg("query"));
  module.def(
      "quote_sql_name",
      [](const std::string& name, const std::string& dialect) {
        return quote_sql_name(name, parse_sql_dialect(dialect));
      },
      nb::arg("name"), nb::arg("dialect"));
  module.def(
      "binomial_tails",
      [](std::int64_t successes, std::int64_t trials, double probability) {
        return std::pair(binomial_lower_tail(successes, trials, probability),
                         binomial_upper_tail(successes, trials, probability));
      },
      nb::arg("successes"), nb::arg("trials"), nb::arg("probability"),
      "P(Bin(trials, probability) <= successes) and P(... >= successes).");
  module.def("fit_counted", &fit_counted, nb::arg("overview"), nb::arg("count"), nb::arg("goal"), nb::arg("numbers"),
             nb::arg("method"), nb::arg("levels").none(), nb::arg("levels_from"), nb::arg("num_threads"));
  module.def("certify_counted", &certify_counted, nb::arg("overview"), nb::arg("count"), nb::arg("goal"),
             nb::arg("numbers"), nb::arg("method"), nb::arg("levels").none(), nb::arg("levels_from"),
             nb::arg("confidence"), nb::arg("seed"), nb::arg("num_threads"));
  module.def(
      "confusion",
      [](double rows, double positives, double flagged, double true_positives, double confidence) {
        return dict_of(Confusion{rows, positives, flagged, true_positives}, confidence);
      },
      nb::arg("rows"), nb::arg("positives"), nb::arg("flagged"), nb::arg("true_positives"), nb::arg("confidence"));
}

}  // namespace limen::python
