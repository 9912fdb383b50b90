// SPDX-License-Identifier: MIT
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cmath>

#include "bind.h"
#include "limen/base/error.h"
#include "limen/uncertainty/beta.h"
#include "limen/uncertainty/ensemble.h"
#include "limen/uncertainty/evidence.h"
#include "limen/uncertainty/frame_law.h"

namespace limen::python {
namespace {

NewArray beta_entropies(const DoubleArray& alpha1, const DoubleArray& alpha0) {
  if (alpha1.size() != alpha0.size()) {
    throw InvalidInput("beta_entropy: a1 has " + std::to_string(alpha1.size()) + " values, a0 has " +
                       std::to_string(alpha0.size()));
  }
  std::vector<double> entropy(alpha1.size());
  without_gil([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, entropy.size(), 1 << 10), [&](const auto& range) {
      for (std::size_t at = range.begin(); at < range.end(); ++at) {
        entropy[at] = beta_entropy(alpha1.data()[at], alpha0.data()[at]);
      }
    });
  });
  return new_array(std::move(entropy));
}

nb::dict ensemble(const std::vector<RealArray>& members) {
  std::vector<RealSpan> spans;
  for (const RealArray& member : members) spans.push_back(real_span(member));
  EnsembleMeasures measures = without_gil([&] { return ensemble_measures(spans); });
  nb::dict result;
  result["mean"] = new_array(std::move(measures.mean));
  result["variance"] = new_array(std::move(measures.variance));
  result["entropy"] = new_array(std::move(measures.entropy));
  result["mutual_information"] = new_array(std::move(measures.mutual_information));
  return result;
}

Frame frame_of(const std::vector<std::string>& names, const std::vector<KeyColumn>& columns) {
  if (names.size() != columns.size()) throw InvalidInput("evidence: names and columns differ in number");
  Frame frame;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    Column column = column_of(names[at], columns[at]);
    const auto* numbers = std::get_if<NumberValues>(&column.values);
    const std::size_t rows = numbers != nullptr ? numbers->size() : std::get<TextValues>(column.values).code.size();
    if (at > 0 && rows != frame.num_rows) {
      throw InvalidInput("evidence: key \"" + names[at] + "\" has " + std::to_string(rows) + " rows, \"" + names[0] +
                         "\" has " + std::to_string(frame.num_rows));
    }
    frame.num_rows = rows;
    frame.columns.push_back(std::move(column));
  }
  return frame;
}

std::span<const std::uint8_t> span_of(const std::optional<LabelArray>& label) {
  return label ? std::span(label->data(), label->size()) : std::span<const std::uint8_t>();
}
std::span<const double> span_of(const std::optional<DoubleArray>& weight) {
  return weight ? std::span(weight->data(), weight->size()) : std::span<const double>();
}

/// Counts of training rows; asked as often as wanted.
class EvidenceTable {
 public:
  EvidenceTable(std::vector<std::string> names, const std::vector<KeyColumn>& columns,
                const std::optional<LabelArray>& label, const std::optional<DoubleArray>& weight, int num_bins,
                double strength, int num_threads)
      : names_(std::move(names)) {
    const EvidenceOptions options = {.num_bins = num_bins, .strength = strength, .num_threads = num_threads};
    validate(options);
    const Frame frame = frame_of(names_, columns);
    evidence_ = without_gil([&] {
      EvidenceKeys keys(frame, options);
      if (keys.needs_fit()) {
        keys.fit(frame, span_of(weight));
        keys.finish_fit();
      }
      EvidenceCounter counter(std::move(keys), options);
      counter.add(frame, span_of(label), span_of(weight));
      return std::make_shared<const Evidence>(std::move(counter).finish());
    });
  }

  /// label and weight: of the rows themselves, to leave each out of its own evidence.
  [[nodiscard]] nb::dict query(const std::vector<KeyColumn>& columns, bool leave_one_out,
                               const std::optional<LabelArray>& label, const std::optional<DoubleArray>& weight) const {
    const Frame frame = frame_of(names_, columns);
    EvidenceRows rows = without_gil([&] {
      return leave_one_out ? evidence_->query(frame, {.label = span_of(label), .weight = span_of(weight)})
                           : evidence_->query(frame);
    });
    nb::dict result;
    result["evidence"] = new_array(std::move(rows.count));
    result["positives"] = new_array(std::move(rows.positives));
    result["rate"] = new_array(std::move(rows.rate));
    result["uncertainty"] = new_array(std::move(rows.uncertainty));
    result["keys_used"] = new_array(std::move(rows.keys_used));
    return result;
  }

  [[nodiscard]] double num_rows() const { return evidence_->num_rows(); }
  [[nodiscard]] double num_positives() const { return evidence_->num_positives(); }
  [[nodiscard]] std::size_t num_cells() const { return evidence_->num_cells(); }

 private:
  std::vector<std::string> names_;
  std::shared_ptr<const Evidence> evidence_;
};

std::tuple<FrameLaw, std::vector<std::string>, std::vector<std::string>> fitted_law(
    const std::vector<std::string>& names, const std::vector<KeyColumn>& training,
    const std::vector<KeyColumn>& validation, const DoubleArray& score, const LabelArray& label, int num_bins,
    int most_terms, double level, double least_z, std::int64_t cap, int most_columns_in_pairs, std::size_t most_rows,
    std::uint64_t seed, int num_threads) {
  const FrameLawOptions options = {.num_bins = num_bins,
                                   .law = {.most_terms = most_terms,
                                           .level = level,
                                           .least_z = least_z,
                                           .cap = cap,
                                           .most_columns_in_pairs = most_columns_in_pairs,
                                           .most_rows = most_rows,
                                           .seed = seed,
                                           .num_threads = num_threads}};
  const Frame training_rows = frame_of(names, training);
  const Frame validation_rows = frame_of(names, validation);
  FrameLawFit fit = without_gil([&] {
    return fit_frame_law(training_rows, validation_rows, {score.data(), score.size()}, {label.data(), label.size()},
                         options);
  });
  return {std::move(fit.law), std::move(fit.columns), std::move(fit.rising)};
}

/// Rows for a law, which needs no columns when it is silent.
Frame law_rows(const FrameLaw& law, const std::vector<KeyColumn>& columns, std::size_t num_rows) {
  Frame frame = frame_of(law.column_names(), columns);
  if (columns.empty()) frame.num_rows = num_rows;
  return frame;
}

nb::dict law_evidence(const FrameLaw& law, const std::vector<KeyColumn>& columns, std::size_t num_rows) {
  const Frame frame = law_rows(law, columns, num_rows);
  LawEvidence found = without_gil([&] { return law.evidence(frame); });
  nb::dict result;
  result["evidence"] = new_array(std::move(found.evidence));
  result["uncertainty"] = new_array(std::move(found.uncertainty));
  return result;
}

NewArray law_probability(const FrameLaw& law, const DoubleArray& score, const std::vector<KeyColumn>& columns,
                         std::size_t num_rows) {
  const Frame frame = law_rows(law, columns, num_rows);
  return new_array(without_gil([&] { return law.probability({score.data(), score.size()}, frame); }));
}

/// Columns, weight and number of cells of each term.
std::vector<std::tuple<std::vector<std::string>, double, std::size_t>> law_terms(const FrameLaw& law) {
  std::vector<std::tuple<std::vector<std::string>, double, std::size_t>> terms;
  for (const EvidenceTerm& term : law.law().terms) {
    std::vector<std::string> names;
    for (const std::size_t column : term.columns) names.push_back(law.keys().name(column));
    terms.emplace_back(std::move(names), term.weight, term.cells.keys.size());
  }
  return terms;
}

std::vector<bool> law_text_columns(const FrameLaw& law) {
  std::vector<bool> is_text;
  for (std::size_t column = 0; column < law.keys().size(); ++column) is_text.push_back(!law.keys().is_number(column));
  return is_text;
}

std::vector<std::string> law_columns(const std::vector<std::string>& training,
                                     const std::vector<std::vector<std::string>>& others, const std::string& label,
                                     const std::string& score, const std::vector<std::string>& drop) {
  return evidence_columns(training, others, {.label = label, .score = score, .drop = drop});
}

/// Numbers a list of texts, None and NaN being missing: distinct texts and codes, or the first row that is neither.
std::variant<std::int64_t, std::pair<std::vector<std::string>, nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>>>
number_texts(const nb::list& values) {
  TextIndex index;
  std::vector<std::int32_t> code;
  code.reserve(values.size());
  for (const nb::handle value : values) {
    if (PyUnicode_Check(value.ptr())) {
      Py_ssize_t size = 0;
      const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
      if (text == nullptr) throw nb::python_error();
      code.push_back(index.add({text, static_cast<std::size_t>(size)}));
    } else if (value.is_none() || (PyFloat_Check(value.ptr()) && std::isnan(PyFloat_AsDouble(value.ptr())))) {
      code.push_back(TextValues::kMissing);
    } else {
      return static_cast<std::int64_t>(code.size());
    }
  }
  return std::pair(index.take_texts(), new_array(std::move(code)));
}

}  // namespace

void bind_uncertainty(nb::module_& module) {
  module.def("beta_entropy", &beta_entropies, nb::arg("a1").noconvert(), nb::arg("a0").noconvert());
  module.def("ensemble", &ensemble, nb::arg("members").noconvert());
  module.def("number_texts", &number_texts, nb::arg("values"),
             "Distinct texts and the code of each; or the first row that is neither text nor missing.");
  nb::class_<EvidenceTable>(module, "Evidence")
      .def(nb::init<std::vector<std::string>, const std::vector<KeyColumn>&, const std::optional<LabelArray>&,
                    const std::optional<DoubleArray>&, int, double, int>(),
           nb::arg("names"), nb::arg("columns").noconvert(), nb::arg("label").noconvert().none(),
           nb::arg("weight").noconvert().none(), nb::arg("num_bins"), nb::arg("strength"), nb::arg("num_threads"))
      .def("query", &EvidenceTable::query, nb::arg("columns").noconvert(), nb::arg("leave_one_out"),
           nb::arg("label").noconvert().none(), nb::arg("weight").noconvert().none())
      .def_prop_ro("num_rows", &EvidenceTable::num_rows)
      .def_prop_ro("num_positives", &EvidenceTable::num_positives)
      .def_prop_ro("num_cells", &EvidenceTable::num_cells);

  module.def("evidence_columns", &law_columns, nb::arg("training"), nb::arg("others"), nb::arg("label"),
             nb::arg("score"), nb::arg("drop"), "The columns that a law of evidence may count by.");
  module.def("fit_frame_law", &fitted_law, nb::arg("names"), nb::arg("training").noconvert(),
             nb::arg("validation").noconvert(), nb::arg("score").noconvert(), nb::arg("label").noconvert(),
             nb::arg("num_bins"), nb::arg("most_terms"), nb::arg("level"), nb::arg("least_z"), nb::arg("cap"),
             nb::arg("most_columns_in_pairs"), nb::arg("most_rows"), nb::arg("seed"), nb::arg("num_threads"),
             "A law of evidence, the columns that were looked at, and those left out because they rise.");
  nb::class_<FrameLaw>(module, "FrameLaw")
      .def_static(
          "from_json", [](const std::string& text) { return without_gil([&] { return frame_law_from_json(text); }); },
          nb::arg("text"))
      .def("to_json", [](const FrameLaw& law) { return without_gil([&] { return to_json(law); }); })
      .def("evidence", &law_evidence, nb::arg("columns").noconvert(), nb::arg("num_rows"))
      .def("probability", &law_probability, nb::arg("score").noconvert(), nb::arg("columns").noconvert(),
           nb::arg("num_rows"))
      .def_prop_ro("columns", &FrameLaw::column_names)
      .def_prop_ro("text_columns", &law_text_columns, "For each of the columns, whether it is text.")
      .def_prop_ro("terms", &law_terms, "Columns, weight and number of cells of each term.")
      .def_prop_ro("why", &FrameLaw::describe)
      .def_prop_ro("is_silent", [](const FrameLaw& law) { return law.law().is_silent(); })
      .def_prop_ro("status", [](const FrameLaw& law) { return std::string(to_string(law.law().status)); })
      .def_prop_ro("p_value", [](const FrameLaw& law) { return law.law().p_value; })
      .def_prop_ro("gain_z", [](const FrameLaw& law) { return law.law().gain_z; })
      .def_prop_ro("num_candidates", [](const FrameLaw& law) { return law.law().num_candidates; })
      .def_prop_ro("crossing", [](const FrameLaw& law) { return law.law().crossing; });
}

}  // namespace limen::python
