// SPDX-License-Identifier: MIT
// The format is other programs' too: its bytes and its checks are tested below the public headers.
#include "tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "support/refusal.h"

namespace limen::train::detail {
namespace {

using test::refusal_of;
using testing::HasSubstr;

/// A file of this header and these data, its length set as it must be.
std::string file_of(const std::string& header, const std::string& data = {}) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

std::string refusal(const std::string& bytes) {
  return refusal_of([&] { (void)read_tensors(bytes, "w"); });
}

const NamedArray* find(const TensorFile& file, const std::string& name) {
  for (const NamedArray& array : file.arrays) {
    if (array.name == name) return &array;
  }
  return nullptr;
}

TEST(Tensors, AreTheHandCheckedBytes) {
  const std::string bytes = write_tensors({.arrays = {{"a", {2}, {1.0F, -2.0F}}}});
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  ASSERT_EQ(header.size(), 54U);
  // 54 is padded with blanks to 56 = 0x38; 1.0F is 0x3f800000 and -2.0F is 0xc0000000, little-endian.
  EXPECT_EQ(bytes, std::string("\x38\0\0\0\0\0\0\0", 8) + header + "  " + std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
}

TEST(Tensors, ComeBackAsTheyWere) {
  TensorFile file;
  file.notes = {{"text", "quotes \" and\nlines"}, {"empty", ""}};
  file.arrays = {{"matrix", {2, 3}, {0, 1, 2, 3, 4, 5}},
                 {"scalar", {}, {7}},
                 {"none", {0, 5}, {}},
                 {"extremes",
                  {4},
                  {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::denorm_min(), -0.0F,
                   std::numeric_limits<float>::max()}}};
  const TensorFile again = read_tensors(write_tensors(file), "w");
  EXPECT_EQ(again.notes, file.notes);
  ASSERT_EQ(again.arrays.size(), file.arrays.size());
  for (const NamedArray& array : file.arrays) {
    const NamedArray* found = find(again, array.name);
    ASSERT_NE(found, nullptr) << array.name;
    EXPECT_EQ(found->shape, array.shape);
    EXPECT_EQ(found->values, array.values);
  }
  EXPECT_TRUE(std::signbit(find(again, "extremes")->values[2]));
  EXPECT_TRUE(read_tensors(write_tensors({}), "w").arrays.empty());
}

// Arrays came back in the order of their names: weights that had gone through a checkpoint had other bytes.
TEST(Tensors, KeepTheirOrder) {
  const std::string bytes = write_tensors({.arrays = {{"b", {1}, {1}}, {"c", {2}, {2, 3}}, {"a", {1}, {4}}}});
  EXPECT_EQ(write_tensors(read_tensors(bytes, "w")), bytes);
}

// The format does not say how long the padding is, nor in which order the arrays lie.
TEST(Tensors, ReadFilesOfOtherPrograms) {
  const std::string data("\0\0\x80\x3f\0\0\0\xc0", 8);
  const TensorFile file =
      read_tensors(file_of(R"({"b":{"data_offsets":[4,8],"shape":[1],"dtype":"F32"},"__metadata__":{"format":"pt"},)"
                           R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}})",
                           data),
                   "w");
  EXPECT_EQ(find(file, "a")->values, std::vector<float>{1});
  EXPECT_EQ(find(file, "b")->values, std::vector<float>{-2});
  EXPECT_EQ(file.notes.at("format"), "pt");
}

TEST(Tensors, EachDamageIsRefusedWithItsReason) {
  const std::string four(4, '\0');
  const auto array = [&](const std::string& members) { return refusal(file_of("{\"a\":{" + members + "}}", four)); };
  const std::string start = "w: damaged, or not a safetensors file: ";
  EXPECT_EQ(refusal(""), start + "it is too short");
  EXPECT_EQ(refusal("1234567"), start + "it is too short");
  EXPECT_EQ(refusal(std::string("\xff\0\0\0\0\0\0\0{}", 10)), start + "its header is too long");
  EXPECT_EQ(refusal(std::string(8, '\xff') + "{}"), start + "its header is too long");
  EXPECT_EQ(refusal(file_of("")), "w: is not a JSON file, or a damaged one");
  EXPECT_EQ(refusal(file_of("[]")), start + "its header is no JSON object");
  EXPECT_EQ(refusal(file_of("{\"a\":")), "w: is not a JSON file, or a damaged one");
  EXPECT_EQ(refusal(file_of(std::string(100'000, '['))), "w: is nested too deeply, it is damaged");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":3})")), start + "__metadata__ is no object");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":{"n":3}})")), start + "a note is no text");
  EXPECT_EQ(refusal(file_of(R"({"a":1})")), start + "a is not of type F32");
  EXPECT_EQ(refusal(file_of(R"({"\u001b[2J":1})")), start + "\\x1b[2J is not of type F32");
  EXPECT_EQ(refusal(file_of(R"({"a":1,"a":2})")), "w: has the key \"a\" twice in one object");
  EXPECT_EQ(array(R"("dtype":"F64","shape":[1],"data_offsets":[0,4])"), start + "a is not of type F32");
  EXPECT_EQ(array(R"("shape":[1],"data_offsets":[0,4])"), start + "a is not of type F32");
  for (const char* shape : {"1", "[-1]", "[1.5]", "[\"1\"]", "[1,1,1,1,1,1,1,1,1]"}) {
    EXPECT_EQ(array(R"("dtype":"F32","data_offsets":[0,4],"shape":)" + std::string(shape)),
              start + "the shape of a is no list of numbers");
  }
  for (const char* shape : {"[2]", "[18446744073709551615]", "[1,4294967296]"}) {
    EXPECT_EQ(array(R"("dtype":"F32","data_offsets":[0,4],"shape":)" + std::string(shape)),
              start + "a is longer than the file");
  }
  for (const char* offsets : {"[0]", "0", "[0,-4]", "[0,4,8]", "[0,4.0]"}) {
    EXPECT_EQ(array(R"("dtype":"F32","shape":[1],"data_offsets":)" + std::string(offsets)),
              start + "data_offsets of a are no two numbers");
  }
  for (const char* offsets : {"[0,3]", "[4,8]", "[4,0]", "[18446744073709551615,3]"}) {
    EXPECT_EQ(array(R"("dtype":"F32","shape":[1],"data_offsets":)" + std::string(offsets)),
              start + "data_offsets of a do not fit its shape or the file");
  }
  EXPECT_EQ(refusal(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                            R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                            four)),
            start + "arrays overlap");
  EXPECT_EQ(refusal(file_of("{}", four)), start + "it has bytes that belong to no array");
}

// Two arrays of the same bytes and a hole of the same size: the sizes add up.
TEST(Tensors, OverlapsAreRefusedAlsoWhereSizesAddUp) {
  EXPECT_THAT(refusal(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                              R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                              std::string(8, '\0'))),
              HasSubstr("arrays overlap"));
}

TEST(Tensors, EveryTruncationAndEveryFlipIsReadOrRefused) {
  const std::string good = write_tensors(
      {.arrays = {{"first", {2, 2}, {1, 2, 3, 4}}, {"second", {1}, {5}}}, .notes = {{"note", "some text"}}});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(refusal(good.substr(0, size)), HasSubstr("damaged")) << size;
  }
  EXPECT_THAT(refusal(good + "x"), HasSubstr("belong to no array"));
  std::mt19937 random(5);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = good;
    for (int flips = 0; flips <= round % 3; ++flips) bad[random() % bad.size()] = static_cast<char>(random());
    refused += refusal(bad) != "(not refused)" ? 1 : 0;
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace limen::train::detail
