// SPDX-License-Identifier: MIT
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cmath>

#include "bind.h"
#include "limen/base/error.h"
#include "limen/uncertainty/beta.h"
#include "limen/uncertainty/ensemble.h"
#include "limen/uncertainty/evidence.h"

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
}

}  // namespace limen::python
