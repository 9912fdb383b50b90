// SPDX-License-Identifier: MIT
#include <arrow/util/compression.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "arrow_status.h"
#include "gzip.h"
#include "limen/base/error.h"

namespace limen::table::detail {
namespace {

class ArrowGzipReader final : public GzipReader {
 public:
  ArrowGzipReader(std::string name, std::function<std::size_t(std::span<char>)> read_packed)
      : name_(std::move(name)), read_packed_(std::move(read_packed)), packed_(kPackedBytes) {
    codec_ = value_or_refuse(arrow::util::Codec::Create(arrow::Compression::GZIP), name_, kWhat);
    decompressor_ = value_or_refuse(codec_->MakeDecompressor(), name_, kWhat);
  }

  std::size_t read(std::span<char> buffer) override {
    std::size_t filled = 0;
    while (filled < buffer.size()) {
      if (begin_ == end_ && !read_more()) break;
      if (decompressor_->IsFinished()) {
        refuse_unless_ok(decompressor_->Reset(), name_, kWhat);  // another member follows
        is_inside_member_ = false;
      }
      const auto result =
          value_or_refuse(decompressor_->Decompress(static_cast<std::int64_t>(end_ - begin_),
                                                    reinterpret_cast<const std::uint8_t*>(packed_.data() + begin_),
                                                    static_cast<std::int64_t>(buffer.size() - filled),
                                                    reinterpret_cast<std::uint8_t*>(buffer.data() + filled)),
                          name_, kWhat);
      is_inside_member_ = !decompressor_->IsFinished();
      begin_ += static_cast<std::size_t>(result.bytes_read);
      filled += static_cast<std::size_t>(result.bytes_written);
    }
    return filled;
  }

 private:
  static constexpr std::size_t kPackedBytes = std::size_t{1} << 15;
  static constexpr std::string_view kWhat = "gzip";

  bool read_more() {
    begin_ = 0;
    end_ = read_packed_(packed_);
    if (end_ == 0 && is_inside_member_) throw InvalidInput(name_ + ": is cut off: the gzip data does not end");
    return end_ > 0;
  }

  std::string name_;
  std::function<std::size_t(std::span<char>)> read_packed_;
  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::util::Decompressor> decompressor_;
  std::vector<char> packed_;
  std::size_t begin_ = 0;  // packed_[begin_, end_) is still to be unpacked
  std::size_t end_ = 0;
  bool is_inside_member_ = true;
};

}  // namespace

std::unique_ptr<GzipReader> open_gzip(std::string name, std::function<std::size_t(std::span<char>)> read_packed) {
  return std::make_unique<ArrowGzipReader>(std::move(name), std::move(read_packed));
}

}  // namespace limen::table::detail
