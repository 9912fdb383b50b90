// SPDX-License-Identifier: MIT
// The mistake that the thread sanitizer is there to find: a loop on several threads adds to one counter.
#include <tbb/parallel_for.h>

int main() {
  int rows = 0;
  tbb::parallel_for(0, 100, [&](int /*row*/) { ++rows; });
  return rows > 0 ? 0 : 1;
}
