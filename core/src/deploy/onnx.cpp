// SPDX-License-Identifier: MIT
//
// The level of a row by a binary search without branches, in operators that work on tensors of any shape. Edges are
// filled up with infinity to 2^steps - 1, thresholds to 2^steps, so that no index is ever out of range:
//
//     level = 0;  for step in 2^(steps-1), ..., 2, 1:  level += step * (uncertainty >= edges[level + step - 1])
//     decision = finite ? score >= thresholds[level] : -1
//
// An unset threshold is infinity too, which no finite score reaches. With segments the tables have a row for each of
// them, one behind the other, all as long as the longest needs; row 0 is for the values that are not named.
//
// The file is a ModelProto of protocol buffers: a message is a list of fields, each a number and a varint, or a number,
// a length and bytes. Fields are written in the order of their numbers, as the library of protocol buffers does.

#include "limen/deploy/onnx.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "count/sql_words.h"
#include "deploy/checks.h"
#include "limen/base/error.h"
#include "limen/base/version.h"
#include "limen/solve/segments.h"

namespace limen {
namespace {

constexpr const char* kFunction = "to_onnx";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers of fields and values, of onnx.proto.
enum class Type : std::uint64_t { kFloat = 1, kInt64 = 7, kString = 8, kDouble = 11 };
constexpr std::uint64_t kAttributeInt = 2;
constexpr std::uint64_t kAttributeTensor = 4;

/// A message of protocol buffers.
class Message {
 public:
  Message& number(unsigned field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3U);
    varint(value);
    return *this;
  }
  Message& bytes(unsigned field, std::string_view value) {
    varint(std::uint64_t{field} << 3U | 2U);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message& message(unsigned field, const Message& value) { return bytes(field, value.text_); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text_ += static_cast<char>(value | 0x80U);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

/// Little-endian, as raw_data is on every machine.
template <typename Value>
std::string raw(const std::vector<Value>& values) {
  std::string bytes;
  for (const Value value : values) {
    auto bits = std::bit_cast<std::uint64_t>(value);
    for (int at = 0; at < 8; ++at, bits >>= 8U) bytes += static_cast<char>(bits & 0xffU);
  }
  return bytes;
}

template <typename Value>
Message tensor(const std::string& name, Type type, const std::vector<Value>& values, bool scalar) {
  Message message;
  if (!scalar) message.number(1, values.size());
  message.number(2, static_cast<std::uint64_t>(type));
  return std::move(message.bytes(8, name).bytes(9, raw(values)));
}

/// A graph that grows node by node. Names of its own begin with limen_.
class Graph {
 public:
  explicit Graph(bool as_column) : as_column_(as_column) {}

  std::string constant(const std::string& name, double value) {
    return add_tensor(tensor<double>("limen_" + name, Type::kDouble, {value}, true), name);
  }
  std::string constant(const std::string& name, std::int64_t value) {
    return add_tensor(tensor<std::int64_t>("limen_" + name, Type::kInt64, {value}, true), name);
  }
  std::string table(const std::string& name, const std::vector<double>& values) {
    return add_tensor(tensor("limen_" + name, Type::kDouble, values, false), name);
  }
  std::string table(const std::string& name, const std::vector<std::int64_t>& values) {
    return add_tensor(tensor("limen_" + name, Type::kInt64, values, false), name);
  }
  std::string text(const std::string& name, const std::string& value) {
    Message message;
    message.number(2, static_cast<std::uint64_t>(Type::kString)).bytes(6, value).bytes(8, "limen_" + name);
    return add_tensor(message, name);
  }

  /// output: the name of a graph's output, else the node has one of its own.
  std::string node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output = "",
                   const Message* attribute = nullptr) {
    const std::string name = "limen_" + type + "_" + std::to_string(++num_nodes_);
    const std::string result = output.empty() ? name : output;
    Message message;
    for (const std::string& input : inputs) message.bytes(1, input);
    message.bytes(2, result).bytes(3, name).bytes(4, type);
    if (attribute != nullptr) message.message(5, *attribute);
    nodes_.push_back(std::move(message));
    return result;
  }
  std::string cast(const std::string& input, Type type, const std::string& output = "") {
    Message attribute;
    attribute.bytes(1, "to").number(3, static_cast<std::uint64_t>(type)).number(20, kAttributeInt);
    return node("Cast", {input}, output, &attribute);
  }
  std::string zeros_like(const std::string& input) {
    Message attribute;
    const Message zero = tensor<std::int64_t>("", Type::kInt64, {0}, false);
    attribute.bytes(1, "value").message(5, zero).number(20, kAttributeTensor);
    return node("ConstantOfShape", {node("Shape", {input})}, "", &attribute);
  }
  /// Whether a number is: false for NaN and infinity.
  std::string is_finite(const std::string& input) {
    if (greatest_.empty()) greatest_ = constant("greatest", std::numeric_limits<double>::max());
    return node("LessOrEqual", {node("Abs", {input}), greatest_});
  }

  void input(const std::string& name, Type type) { inputs_.push_back(value_info(name, type)); }
  void output(const std::string& name) { outputs_.push_back(value_info(name, Type::kInt64)); }

  [[nodiscard]] Message message() const {
    Message graph;
    for (const Message& node : nodes_) graph.message(1, node);
    graph.bytes(2, "limen");
    for (const Message& tensor : tensors_) graph.message(5, tensor);
    for (const Message& input : inputs_) graph.message(11, input);
    for (const Message& output : outputs_) graph.message(12, output);
    return graph;
  }

 private:
  std::string add_tensor(Message message, const std::string& name) {
    tensors_.push_back(std::move(message));
    return "limen_" + name;
  }
  [[nodiscard]] Message value_info(const std::string& name, Type type) const {
    Message shape;
    shape.message(1, Message().bytes(2, "N"));
    if (as_column_) shape.message(1, Message().number(1, 1));
    Message tensor_type;
    tensor_type.number(1, static_cast<std::uint64_t>(type)).message(2, shape);
    return std::move(Message().bytes(1, name).message(2, Message().message(1, tensor_type)));
  }

  bool as_column_;
  std::vector<Message> nodes_, tensors_, inputs_, outputs_;
  std::size_t num_nodes_ = 0;
  std::string greatest_;
};

/// One row for each rule, each of 2^steps entries; edges of one fewer.
struct Tables {
  std::size_t steps = 0;
  std::vector<double> edges;
  std::vector<double> thresholds;
  std::vector<std::int64_t> levels;
};

Tables make_tables(const std::vector<const Rule*>& rules) {
  Tables tables;
  for (const Rule* rule : rules) {
    while ((std::size_t{1} << tables.steps) <= rule->uncertainty_edges.size()) ++tables.steps;
  }
  const std::size_t width = std::size_t{1} << tables.steps;
  for (const Rule* rule : rules) {
    for (std::size_t level = 0; level < width; ++level) {
      const bool is_level = level < rule->score_thresholds.size();
      if (level + 1 < width) {
        tables.edges.push_back(level < rule->uncertainty_edges.size() ? rule->uncertainty_edges[level] : kInfinity);
      }
      tables.thresholds.push_back(is_level ? rule->score_thresholds[level].value_or(kInfinity) : kInfinity);
      tables.levels.push_back(is_level ? static_cast<std::int64_t>(level) : -1);
    }
  }
  return tables;
}

/// The IR version that was current when the opset came.
int ir_version_of(int opset) {
  return opset <= 14   ? 7
         : opset <= 18 ? 8
         : opset <= 20 ? 9
         : opset <= 22 ? 10
         : opset == 23 ? 11
         : opset == 24 ? 12
                       : 13;
}

void validate(const OnnxOptions& options, const Boundary& boundary) {
  constexpr int kLeastOpset = 13;
  constexpr int kTextOpset = 19;
  constexpr int kMostOpset = 25;
  const auto range = [](const char* name, int value, int low, int high) {
    if (value >= low && value <= high) return;
    throw InvalidInput(kFunction, std::string(name) + " is " + std::to_string(value) + ", must be " +
                                      std::to_string(low) + " to " + std::to_string(high));
  };
  range("opset", options.opset, kLeastOpset, kMostOpset);
  if (options.ir_version) range("ir_version", *options.ir_version, 7, 13);
  if (boundary.segments && options.opset < kTextOpset) {
    throw InvalidInput(kFunction, "opset is " + std::to_string(options.opset) +
                                      ", must be 19 at least: before, no operator compares texts of segments");
  }
  const std::vector<std::pair<const char*, const std::string*>> names = {
      {"the score's name", &options.score},
      {"the uncertainty's name", &options.uncertainty},
      {"the segment's name", &options.segment},
      {"the decision's name", &options.decision},
      {"the level's name", &options.level}};
  for (const auto& [what, name] : names) {
    detail::check_text(*name, what, kFunction);
    for (const auto& [other, used] : names) {
      if (what != other && *name == *used)
        throw InvalidInput(kFunction, std::string(what) + " and " + other + " are equal");
    }
    if (name->starts_with("limen_"))
      throw InvalidInput(kFunction, std::string(what) + " begins with limen_, as those inside do");
  }
}

/// The row of the tables for each value of segments.
std::string add_segments(Graph& graph, const Segments& segments, const OnnxOptions& options, const std::string& zeros) {
  std::vector<std::pair<std::string, std::int64_t>> values;
  for (const Segment& segment : segments.own) values.emplace_back(segment.value, values.size() + 1);
  if (!segments.unseen_as_pooled) {
    const auto pool = static_cast<std::int64_t>(segments.own.size() + 1);
    for (const std::string& value : segments.pooled_values) values.emplace_back(value, pool);
  }
  if (values.size() > kMostOnnxValues) {
    throw InvalidInput(kFunction, std::to_string(values.size()) + " values of segments are more than " +
                                      std::to_string(kMostOnnxValues) + ", each of which is compared with every row");
  }
  graph.input(options.segment, Type::kString);
  std::string row = zeros;
  for (std::size_t at = 0; at < values.size(); ++at) {
    const std::string number = std::to_string(at);
    const std::string is_value =
        graph.node("Equal", {options.segment, graph.text("value_" + number, values[at].first)});
    const std::string place = graph.constant("row_" + number, values[at].second);
    row = graph.node("Add", {row, graph.node("Mul", {graph.cast(is_value, Type::kInt64), place})});
  }
  return row;
}

Graph make_graph(const Boundary& boundary, const OnnxOptions& options) {
  Graph graph(options.as_column);
  const Type type = options.single_precision ? Type::kFloat : Type::kDouble;
  const auto add_number = [&](const std::string& name) {
    graph.input(name, type);
    return options.single_precision ? graph.cast(name, Type::kDouble) : name;
  };
  const Rule never;
  std::vector<const Rule*> rules;
  if (boundary.segments) {
    const Segments& segments = *boundary.segments;
    rules.push_back(segments.unseen_as_pooled ? &segments.pooled->rule : &never);
    for (const Segment& segment : segments.own) rules.push_back(&segment.rule);
    if (segments.pooled && !segments.unseen_as_pooled) rules.push_back(&segments.pooled->rule);
  } else {
    rules.push_back(&boundary.rule);
  }
  const Tables tables = make_tables(rules);

  const std::string score = add_number(options.score);
  std::string finite = graph.is_finite(score);
  std::string has_level;
  std::string uncertainty;
  if (detail::looks_at_uncertainty(boundary)) {
    uncertainty = add_number(options.uncertainty);
    has_level = graph.is_finite(uncertainty);
    finite = graph.node("And", {finite, has_level});
  }
  std::string level = graph.zeros_like(score);
  std::string row;
  if (boundary.segments) row = add_segments(graph, *boundary.segments, options, level);
  if (tables.steps > 0) {
    const std::string edges = graph.table("edges", tables.edges);
    std::string first;  // edge of the row's segment
    if (!row.empty()) {
      const auto width = static_cast<std::int64_t>((std::size_t{1} << tables.steps) - 1);
      first = graph.node("Mul", {row, graph.constant("edges_a_row", width)});
    }
    for (std::size_t left = tables.steps; left-- > 0;) {
      const auto size = std::int64_t{1} << left;
      const std::string step = graph.constant("step_" + std::to_string(size), size);
      const std::string before = graph.constant("before_" + std::to_string(size), size - 1);
      std::string at = graph.node("Add", {level, before});
      if (!first.empty()) at = graph.node("Add", {first, at});
      const std::string reaches = graph.node("GreaterOrEqual", {uncertainty, graph.node("Gather", {edges, at})});
      level = graph.node("Add", {level, graph.node("Mul", {graph.cast(reaches, Type::kInt64), step})});
    }
  }
  std::string cell = level;
  if (!row.empty()) {
    const auto width = std::int64_t{1} << tables.steps;
    cell = graph.node("Add", {graph.node("Mul", {row, graph.constant("levels_a_row", width)}), level});
  }
  const std::string none = graph.constant("none", std::int64_t{-1});
  const std::string threshold = graph.node("Gather", {graph.table("thresholds", tables.thresholds), cell});
  const std::string flagged = graph.cast(graph.node("GreaterOrEqual", {score, threshold}), Type::kInt64);
  graph.node("Where", {finite, flagged, none}, options.decision);
  const std::string levels = graph.table("levels", tables.levels);
  if (has_level.empty()) {
    graph.node("Gather", {levels, cell}, options.level);
  } else {
    graph.node("Where", {has_level, graph.node("Gather", {levels, cell}), none}, options.level);
  }
  graph.output(options.decision);
  graph.output(options.level);
  return graph;
}

}  // namespace

std::string to_onnx(const Boundary& boundary, const OnnxOptions& options) {
  detail::check_exported(boundary, kFunction);
  validate(options, boundary);
  const Message graph = make_graph(boundary, options).message();
  Message opset;
  opset.bytes(1, "").number(2, static_cast<std::uint64_t>(options.opset));
  Message model;
  model.number(1, static_cast<std::uint64_t>(options.ir_version.value_or(ir_version_of(options.opset))));
  model.bytes(2, "limen").bytes(3, kLimenVersion).message(7, graph).message(8, opset);
  return model.text();
}

}  // namespace limen
