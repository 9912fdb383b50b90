// SPDX-License-Identifier: MIT
#include "tensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "limen/base/error.h"
#include "limen/base/json.h"
#include "limen/base/text.h"

namespace limen::train::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they are in memory");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostHeaderBytes = std::size_t{1} << 26;

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw InvalidInput(name, "damaged, or not a safetensors file: " + escaped(what, 200));
}

/// The number of values, which must not be more than `most`.
std::size_t count_of(const nlohmann::json& shape, std::size_t most, const std::string& name, const std::string& array) {
  if (!shape.is_array() || shape.size() > 8) refuse(name, "the shape of " + array + " is no list of numbers");
  std::size_t count = 1;
  for (const auto& size : shape) {
    if (!size.is_number_unsigned()) refuse(name, "the shape of " + array + " is no list of numbers");
    const auto value = size.get<std::uint64_t>();
    if (value > most || (value > 0 && count > most / value)) refuse(name, array + " is longer than the file");
    count *= static_cast<std::size_t>(value);
  }
  return count;
}

}  // namespace

std::string write_tensors(const TensorFile& file) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!file.notes.empty()) header["__metadata__"] = file.notes;
  std::size_t offset = 0;
  for (const NamedArray& array : file.arrays) {
    const std::size_t end = offset + array.values.size() * sizeof(float);
    header[array.name] = {{"dtype", "F32"}, {"shape", array.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  std::string bytes(kLengthBytes, '\0');
  const std::uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes.reserve(kLengthBytes + text.size() + offset);
  bytes += text;
  for (const NamedArray& array : file.arrays) {
    bytes.append(reinterpret_cast<const char*>(array.values.data()), array.values.size() * sizeof(float));
  }
  return bytes;
}

TensorFile read_tensors(std::string_view bytes, const std::string& name) {
  if (bytes.size() < kLengthBytes) refuse(name, "it is too short");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > bytes.size() - kLengthBytes || length > kMostHeaderBytes) refuse(name, "its header is too long");
  const std::string_view text = bytes.substr(kLengthBytes, static_cast<std::size_t>(length));
  const std::string_view data = bytes.substr(kLengthBytes + static_cast<std::size_t>(length));
  // Nothing here is nested deeper than an array in an object in an object.
  const nlohmann::json header = parse_json(text, name, {.depth = 4, .bytes = kMostHeaderBytes});
  if (!header.is_object()) refuse(name, "its header is no JSON object");
  TensorFile file;
  std::size_t used = 0;
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    std::size_t array;
  };
  std::vector<Range> ranges;
  std::vector<NamedArray> arrays;
  for (const auto& [key, value] : header.items()) {
    if (key == "__metadata__") {
      if (!value.is_object()) refuse(name, "__metadata__ is no object");
      for (const auto& [note, note_text] : value.items()) {
        if (!note_text.is_string()) refuse(name, "a note is no text");
        file.notes[note] = note_text.get<std::string>();
      }
      continue;
    }
    if (!value.is_object() || value.value("dtype", nlohmann::json()) != "F32")
      refuse(name, key + " is not of type F32");
    const std::size_t most = data.size() / sizeof(float);
    const std::size_t count = count_of(value.value("shape", nlohmann::json()), most, name, key);
    const nlohmann::json offsets = value.value("data_offsets", nlohmann::json());
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      refuse(name, "data_offsets of " + key + " are no two numbers");
    }
    const auto begin = offsets[0].get<std::uint64_t>();
    const auto end = offsets[1].get<std::uint64_t>();
    if (begin > end || end > data.size() || end - begin != count * sizeof(float)) {
      refuse(name, "data_offsets of " + key + " do not fit its shape or the file");
    }
    used += static_cast<std::size_t>(end - begin);
    if (used > data.size()) refuse(name, "arrays overlap");
    ranges.push_back({begin, end, arrays.size()});
    NamedArray array;
    array.name = key;
    for (const auto& size : value["shape"]) array.shape.push_back(size.get<std::int64_t>());
    array.values.resize(count);
    if (count > 0) std::memcpy(array.values.data(), data.data() + begin, count * sizeof(float));
    arrays.push_back(std::move(array));
  }
  std::ranges::stable_sort(
      ranges, [](const Range& a, const Range& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::uint64_t covered = 0;
  for (const Range& range : ranges) {
    if (range.begin < covered) refuse(name, "arrays overlap");
    if (range.begin > covered) refuse(name, "it has bytes that belong to no array");
    covered = range.end;
    file.arrays.push_back(std::move(arrays[range.array]));
  }
  if (covered != data.size()) refuse(name, "it has bytes that belong to no array");
  return file;
}

}  // namespace limen::train::detail
