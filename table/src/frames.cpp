// SPDX-License-Identifier: MIT
#include "limen/table/frames.h"

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "append.h"
#include "frame_source.h"
#include "input.h"
#include "limen/base/error.h"
#include "row_source.h"

namespace limen::table {
namespace {

using detail::FrameColumn;
using detail::FrameSource;
using detail::Input;

// A million rows of a few columns, fewer of many.
std::size_t batch_rows(std::size_t num_columns) {
  constexpr std::size_t kValues = std::size_t{1} << 24;
  return std::clamp(kValues / std::max<std::size_t>(num_columns, 1), std::size_t{1} << 16, std::size_t{1} << 20);
}

detail::ValueRules rules_of(const FrameReadOptions& options) {
  detail::ValueRules rules = {.missing = {}, .rule = options.missing_rule};
  for (const std::string& text : options.missing) rules.missing.emplace_back(trimmed(text));
  return rules;
}

std::vector<Input> resolve(const std::vector<std::string>& paths, const FrameReadOptions& options) {
  for (const std::string& name : options.text_columns) {
    if (std::ranges::find(options.number_columns, name) == options.number_columns.end()) continue;
    throw InvalidInput("column " + quoted(name) + " cannot be both text and number");
  }
  if (const char separator = options.separator.value_or(',');
      separator == '"' || separator == '\n' || separator == '\r' || separator == '\0') {
    throw InvalidInput("the separator cannot be a quote, a line end or NUL");
  }
  return detail::resolve_inputs(
      paths, options.format,
      {.separator = options.separator, .has_header = options.has_header, .names = options.names});
}

std::unique_ptr<FrameSource> open_frames(const Input& input, const detail::ValueRules& rules,
                                         const detail::Progress& progress = nullptr) {
  return detail::is_text(input.format) ? detail::open_csv_frames(input, rules, progress)
                                       : detail::open_arrow_frames(input, progress);
}

// The kinds of the columns of several files, by name.
class Kinds {
 public:
  explicit Kinds(const FrameReadOptions& options) {
    for (const std::string& name : options.text_columns) fixed_.emplace_back(trimmed(name), ColumnKind::kText);
    for (const std::string& name : options.number_columns) {
      fixed_.emplace_back(trimmed(name), ColumnKind::kNumber);
    }
  }

  [[nodiscard]] bool is_fixed(std::string_view name) const { return find(fixed_, name) != nullptr; }

  void add(FrameSource& source) {
    const std::vector<std::string>& names = source.names().names;
    const std::vector<std::optional<ColumnKind>> kinds = source.kinds();
    for (std::size_t column = 0; column < names.size(); ++column) {
      if (kinds[column] == ColumnKind::kText && find(text_, names[column]) == nullptr) {
        text_.emplace_back(names[column], ColumnKind::kText);
      }
    }
  }

  [[nodiscard]] ColumnKind of(std::string_view name) const {
    if (const ColumnKind* kind = find(fixed_, name)) return *kind;
    return find(text_, name) != nullptr ? ColumnKind::kText : ColumnKind::kNumber;
  }

 private:
  using Named = std::vector<std::pair<std::string, ColumnKind>>;
  static const ColumnKind* find(const Named& all, std::string_view name) {
    const auto found = std::ranges::find(all, name, &Named::value_type::first);
    return found == all.end() ? nullptr : &found->second;
  }
  Named fixed_;
  Named text_;  // those that some file holds text in
};

// Opens files to find the kinds of the wanted columns; a file that can be read only once stays open.
class FrameFiles {
 public:
  FrameFiles(const std::vector<Input>& inputs, const FrameReadOptions& options)
      : inputs_(inputs),
        options_(options),
        rules_(rules_of(options)),
        kinds_(options),
        progress_(inputs, options.progress) {
    const bool all_fixed =
        !options.columns.empty() &&
        std::ranges::all_of(options.columns, [&](const std::string& name) { return kinds_.is_fixed(trimmed(name)); });
    if (all_fixed) return;
    for (const Input& input : inputs_) {
      std::unique_ptr<FrameSource> source = open_frames(input, rules_, progress_of_stdin(input));
      kinds_.add(*source);
      if (is_stdin(input)) stdin_ = std::move(source);
    }
  }

  [[nodiscard]] const std::vector<Input>& inputs() const { return inputs_; }
  [[nodiscard]] const Kinds& kinds() const { return kinds_; }
  [[nodiscard]] const detail::ValueRules& rules() const { return rules_; }

  std::unique_ptr<FrameSource> open(const Input& input) {
    const detail::Progress progress = progress_.next(input);
    if (is_stdin(input) && stdin_) return std::exchange(stdin_, nullptr);
    return open_frames(input, rules_, progress);
  }

  // The wanted columns in a file.
  [[nodiscard]] std::vector<FrameColumn> columns_in(const detail::ColumnNames& names) const {
    std::vector<FrameColumn> columns;
    for (const std::string& name : options_.columns.empty() ? names.names : options_.columns) {
      detail::Column column = names.require(name);
      const ColumnKind kind = kinds_.of(column.name);
      std::string hint = " (if it is a category, declare it: --categorical " + escaped(column.name, 40) + ")";
      columns.push_back({.column = std::move(column), .kind = kind, .number_hint = std::move(hint)});
    }
    return columns;
  }

 private:
  // Of the files before stdin nothing is known to have been read when it is opened: it is told alone.
  [[nodiscard]] detail::Progress progress_of_stdin(const Input& input) const {
    return is_stdin(input) ? options_.progress : nullptr;
  }

  const std::vector<Input>& inputs_;
  const FrameReadOptions& options_;
  detail::ValueRules rules_;
  Kinds kinds_;
  detail::FileProgress progress_;
  std::unique_ptr<FrameSource> stdin_;
};

// The frames of several files, one after the other.
class FrameStream {
 public:
  explicit FrameStream(FrameFiles& files) : files_(files) {}

  // Unset after the last one.
  std::optional<Frame> next() {
    while (next_input_ < files_.inputs().size() || source_) {
      if (!source_) open_next();
      const bool has_more = source_->read(*builder_, batch_rows_ - builder_->frame().num_rows, result_.rows_dropped);
      if (!has_more) source_.reset();
      if (builder_->frame().num_rows >= batch_rows_) break;
    }
    if (!builder_ || builder_->frame().num_rows == 0) return std::nullopt;
    result_.rows += builder_->frame().num_rows;
    return builder_->take();
  }

  [[nodiscard]] const AppendResult& result() const { return result_; }

 private:
  void open_next() {
    source_ = files_.open(files_.inputs()[next_input_++]);
    columns_ = files_.columns_in(source_->names());
    source_->start(columns_, files_.rules());
    if (!builder_) {
      first_ = columns_;
      builder_.emplace(columns_);
      batch_rows_ = batch_rows(columns_.size());
    }
    // Without a list of wanted columns, each file says by itself what its columns are.
    const auto name = [](const FrameColumn& column) -> const std::string& { return column.column.name; };
    if (std::ranges::equal(columns_, first_, {}, name, name)) return;
    source_->names().refuse("has other columns than " + files_.inputs().front().name +
                            " (several inputs must have the same columns)");
  }

  FrameFiles& files_;
  std::size_t next_input_ = 0;
  std::size_t batch_rows_ = 0;
  std::unique_ptr<FrameSource> source_;
  std::vector<FrameColumn> columns_;
  std::vector<FrameColumn> first_;
  std::optional<detail::FrameBuilder> builder_;
  AppendResult result_;
};

}  // namespace

std::vector<ColumnInfo> describe_columns(const std::vector<std::string>& paths, const FrameReadOptions& options) {
  const std::vector<Input> inputs = resolve(paths, options);
  const detail::ValueRules rules = rules_of(options);
  Kinds kinds(options);
  std::vector<std::string> names;
  for (const Input& input : inputs) {
    if (is_stdin(input)) throw InvalidInput(input.name + ": can be read only once; give a file");
    const std::unique_ptr<FrameSource> source = open_frames(input, rules);
    kinds.add(*source);
    for (const std::string& name : source->names().names) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  const detail::ColumnNames all = {.table = inputs.front().name, .names = names};
  for (const std::vector<std::string>* fixed : {&options.text_columns, &options.number_columns}) {
    for (const std::string& name : *fixed) (void)all.require(name);
  }
  std::vector<ColumnInfo> columns;
  for (const std::string& name : names) columns.push_back({.name = name, .kind = kinds.of(name)});
  return columns;
}

AppendResult for_each_frame(const std::vector<std::string>& paths, const FrameReadOptions& options,
                            const std::function<void(const Frame&)>& visit) {
  const std::vector<Input> inputs = resolve(paths, options);
  FrameFiles files(inputs, options);
  FrameStream stream(files);
  // A future of std::async waits in its destructor: no thread is left behind when `visit` throws.
  const auto read_ahead = [&stream] { return std::async(std::launch::async, [&stream] { return stream.next(); }); };
  std::future<std::optional<Frame>> ahead = read_ahead();
  while (const std::optional<Frame> frame = ahead.get()) {
    ahead = read_ahead();
    visit(*frame);
  }
  detail::require_rows(inputs, stream.result().rows, stream.result().rows_dropped);
  return stream.result();
}

AppendResult append_columns(const std::vector<std::string>& inputs, const std::string& output,
                            const AppendColumnsOptions& options, const std::vector<AddedColumn>& added,
                            const FillColumns& fill) {
  const std::vector<Input> files = resolve(inputs, options.read);
  // append() opens the inputs itself, so that stdin cannot be looked at before: there kinds must be given.
  FrameReadOptions read = options.read;
  std::vector<std::string> undecided;
  std::ranges::copy_if(read.columns, std::back_inserter(undecided), [&](const std::string& name) {
    return std::ranges::find(read.text_columns, name) == read.text_columns.end() &&
           std::ranges::find(read.number_columns, name) == read.number_columns.end();
  });
  if (std::ranges::any_of(files, detail::is_stdin)) {
    read.text_columns.insert(read.text_columns.end(), undecided.begin(), undecided.end());
    undecided.clear();
  }
  Kinds kinds(read);
  if (!undecided.empty()) {
    for (const Input& file : files) kinds.add(*open_frames(file, rules_of(read)));
  }
  detail::AppendPlan plan = {.rules = rules_of(read), .keep = options.keep, .added = added, .progress = read.progress};
  for (const std::string& name : read.columns) {
    plan.wanted.push_back({.name = std::string(trimmed(name)), .kind = kinds.of(trimmed(name))});
  }
  return detail::append(files, output, options.output_format, plan, fill);
}

}  // namespace limen::table
