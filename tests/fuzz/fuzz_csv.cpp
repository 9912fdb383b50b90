// SPDX-License-Identifier: MIT
//
// Any bytes as a table: refused with InvalidInput or IoError in one line, or read into columns of equal length;
// appending decisions then keeps the number of rows. The first byte chooses the format and whether bad rows are
// dropped.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "limen/base/error.h"
#include "limen/table/append.h"
#include "limen/table/predictions.h"

namespace {

void check_message(const std::exception& error) {
  const std::string text = error.what();
  if (text.empty() || text.find('\n') != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const int descriptor = memfd_create("limen-fuzz", 0);
  if (descriptor < 0 || ftruncate(descriptor, 0) != 0) std::abort();
  if (pwrite(descriptor, data + 1, size - 1, 0) != static_cast<ssize_t>(size - 1)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);

  limen::table::PredictionOptions options;
  options.read.format = (data[0] & 1) != 0 ? limen::table::Format::kTsv : limen::table::Format::kCsv;
  options.drop_missing = (data[0] & 2) != 0;
  std::size_t rows = 0;
  try {
    const limen::table::Predictions predictions = limen::table::read_predictions(path, options);
    const limen::Samples samples = predictions.samples();
    rows = samples.size();
    if (samples.score.size() != rows || samples.uncertainty.size() != rows || rows == 0) std::abort();
    if (!samples.weight.empty() && samples.weight.size() != rows) std::abort();
    limen::validate(samples);
  } catch (const limen::InvalidInput& error) {
    check_message(error);
  } catch (const limen::IoError& error) {
    check_message(error);
  }
  try {
    std::size_t decided = 0;
    const limen::table::AppendDecisionsOptions append_options = {.read = options.read,
                                                                 .drop_missing = options.drop_missing};
    const auto result = limen::table::append_decisions(path, "/dev/null", append_options, [&](const auto& batch) {
      decided += batch.score.size();
      std::fill(batch.decision.begin(), batch.decision.end(), std::uint8_t{1});
      std::fill(batch.level.begin(), batch.level.end(), 0);
    });
    // Appending does not look at labels and weights, so that it may keep rows that reading drops, never the reverse.
    if (decided != result.rows || result.rows < rows) std::abort();
  } catch (const limen::InvalidInput& error) {
    check_message(error);
    if (rows > 0 && std::string(error.what()).find("already has a column") == std::string::npos) std::abort();
  } catch (const limen::IoError& error) {
    check_message(error);
  }
  return 0;
}
