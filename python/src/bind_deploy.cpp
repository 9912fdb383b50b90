// SPDX-License-Identifier: MIT
#include "bind.h"
#include "limen/deploy/c_header.h"
#include "limen/deploy/onnx.h"
#include "limen/deploy/sql.h"

namespace limen::python {
namespace {

using Name = std::optional<std::string>;

std::string sql_of(const Boundary& boundary, const std::string& dialect, const std::string& what, const Name& score,
                   const Name& uncertainty, const Name& segment, const std::vector<std::string>& table) {
  return to_sql(boundary, {.dialect = parse_sql_dialect(dialect),
                           .part = parse_sql_part(what),
                           .score = score,
                           .uncertainty = uncertainty,
                           .segment = segment,
                           .table = table});
}

nb::bytes onnx_of(const Boundary& boundary, const std::string& score, const std::string& uncertainty,
                  const std::string& segment, bool single_precision, bool as_column, int opset,
                  std::optional<int> ir_version) {
  const std::string model = to_onnx(boundary, {.single_precision = single_precision,
                                               .as_column = as_column,
                                               .opset = opset,
                                               .ir_version = ir_version,
                                               .score = score,
                                               .uncertainty = uncertainty,
                                               .segment = segment});
  return nb::bytes(model.data(), model.size());
}

}  // namespace

void bind_deploy(nb::module_& module) {
  module.def("to_sql", &sql_of, nb::arg("boundary"), nb::arg("dialect"), nb::arg("what"), nb::arg("score").none(),
             nb::arg("uncertainty").none(), nb::arg("segment").none(), nb::arg("table"));
  module.def(
      "to_c_header",
      [](const Boundary& boundary, const std::string& name) { return to_c_header(boundary, {.name = name}); },
      nb::arg("boundary"), nb::arg("name"));
  module.def("to_onnx", &onnx_of, nb::arg("boundary"), nb::arg("score"), nb::arg("uncertainty"), nb::arg("segment"),
             nb::arg("single_precision"), nb::arg("as_column"), nb::arg("opset"), nb::arg("ir_version").none());
}

}  // namespace limen::python
