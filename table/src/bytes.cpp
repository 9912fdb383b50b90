// SPDX-License-Identifier: MIT
#include "bytes.h"

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/util/compression.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "arrow_status.h"

namespace limen::table::detail {
namespace {

struct Signature {
  std::string_view bytes;
  arrow::Compression::type codec;
  const char* name;
};
constexpr std::array<Signature, 4> kSignatures = {{{"\x1f\x8b", arrow::Compression::GZIP, "gzip"},
                                                   {"\x28\xb5\x2f\xfd", arrow::Compression::ZSTD, "zstd"},
                                                   {"\x04\x22\x4d\x18", arrow::Compression::LZ4_FRAME, "lz4"},
                                                   {"BZh", arrow::Compression::BZ2, "bzip2"}}};
constexpr std::size_t kStartBytes = 10;

// "BZh" alone could begin a line of text; behind the block size stands the number pi.
bool starts_like(std::string_view start, const Signature& signature) {
  if (!start.starts_with(signature.bytes)) return false;
  return signature.codec != arrow::Compression::BZ2 || start.substr(4) == "1AY&SY";
}

}  // namespace

// The file for Arrow. An exception is kept for the caller: Arrow's code is not made for exceptions.
class Bytes::Raw final : public arrow::io::InputStream {
 public:
  explicit Raw(const OpenFile& file) : file_(file) {}

  std::size_t fill(std::span<char> buffer) {
    std::size_t filled = std::min(start_.size(), buffer.size());
    std::copy_n(start_.begin(), filled, buffer.begin());
    start_.erase(0, filled);
    while (filled < buffer.size()) {
      const ssize_t got = ::read(file_.descriptor(), buffer.data() + filled, buffer.size() - filled);
      if (got == 0) break;
      if (got < 0) {
        if (errno == EINTR) continue;
        file_.fail(errno);
      }
      filled += static_cast<std::size_t>(got);
      bytes_read_ += static_cast<std::uint64_t>(got);
    }
    return filled;
  }
  // The first bytes, which stay to be read.
  std::string_view peek_start() {
    std::string start(kStartBytes, '\0');
    start.resize(fill(start));
    start_ = start;
    return start_;
  }

  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    try {
      return static_cast<std::int64_t>(fill({static_cast<char*>(out), static_cast<std::size_t>(bytes)}));
    } catch (...) {
      error_ = std::current_exception();
      return arrow::Status::IOError("cannot be read");
    }
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::ResizableBuffer> buffer, arrow::AllocateResizableBuffer(bytes));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t got, Read(bytes, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(got));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }
  arrow::Status Close() override { return arrow::Status::OK(); }
  [[nodiscard]] bool closed() const override { return false; }
  [[nodiscard]] arrow::Result<std::int64_t> Tell() const override { return static_cast<std::int64_t>(bytes_read_); }

  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const OpenFile& file_;
  std::string start_;
  std::uint64_t bytes_read_ = 0;
  std::exception_ptr error_;
};

Bytes::Bytes(const OpenFile& file) : file_(file), raw_(std::make_shared<Raw>(file)) {
  const std::string_view start = raw_->peek_start();
  for (const Signature& signature : kSignatures) {
    if (!starts_like(start, signature)) continue;
    packing_ = signature.name;
    codec_ = value_or_refuse(arrow::util::Codec::Create(signature.codec), file.name(), packing_);
    unpacked_ = value_or_refuse(arrow::io::CompressedInputStream::Make(codec_.get(), raw_), file.name(), packing_);
    return;
  }
}

std::size_t Bytes::read(std::span<char> buffer) {
  if (!unpacked_) return raw_->fill(buffer);
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const auto got = unpacked_->Read(static_cast<std::int64_t>(buffer.size() - filled), buffer.data() + filled);
    raw_->rethrow();
    refuse_unless_ok(got.status(), file_.name(), packing_);
    if (*got == 0) break;
    filled += static_cast<std::size_t>(*got);
  }
  return filled;
}

std::uint64_t Bytes::bytes_read() const { return raw_->bytes_read(); }

}  // namespace limen::table::detail
