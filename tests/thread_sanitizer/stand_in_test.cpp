// SPDX-License-Identifier: MIT
// The stand-in for oneTBB does what oneTBB promises, on several threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using ::testing::Each;
using ::testing::SizeIs;

TEST(StandIn, LoopsVisitEveryIndexOnceOnFourThreads) {
  for (const int size : {0, 1, 3, 4, 1000}) {
    std::vector<int> visits(static_cast<std::size_t>(size), 0);
    std::vector<std::thread::id> threads(visits.size());
    tbb::parallel_for(0, size, [&](int at) {
      ++visits[static_cast<std::size_t>(at)];
      threads[static_cast<std::size_t>(at)] = std::this_thread::get_id();
    });
    EXPECT_THAT(visits, Each(1));
    EXPECT_THAT(std::set(threads.begin(), threads.end()), SizeIs(static_cast<std::size_t>(std::min(size, 4))));
    const auto visit = [&](const auto& range) {
      EXPECT_LE(range.size(), 7U);
      for (std::size_t at = range.begin(); at < range.end(); ++at) ++visits[at];
    };
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, visits.size(), 7), visit);
    EXPECT_THAT(visits, Each(2));
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, visits.size(), 7), visit, tbb::simple_partitioner());
    EXPECT_THAT(visits, Each(3));
  }
}

TEST(StandIn, AnArenaSaysHowManyThreads) {
  for (const int size : {1, 2, 3}) {
    tbb::enumerable_thread_specific<int> parts;
    tbb::task_arena(size).execute([&] {
      EXPECT_EQ(tbb::this_task_arena::max_concurrency(), size);
      tbb::parallel_for(0, 100, [&](int /*at*/) { ++parts.local(); });
    });
    EXPECT_EQ(std::distance(parts.begin(), parts.end()), size);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0), 100);
  }
}

TEST(StandIn, ThreadsOfLoopsInsideLoopsHaveValuesOfTheirOwn) {
  tbb::enumerable_thread_specific<std::vector<int>> parts([] { return std::vector<int>(10, 0); });
  for (int pass = 0; pass < 3; ++pass) {
    tbb::parallel_for(0, 8,
                      [&](int /*outer*/) { tbb::parallel_for(0, 10, [&](int inner) { ++parts.local()[inner]; }); });
  }
  std::vector<int> sums(10, 0);
  for (const std::vector<int>& part : parts) {
    for (std::size_t at = 0; at < sums.size(); ++at) sums[at] += part[at];
  }
  EXPECT_THAT(sums, Each(24));
}

TEST(StandIn, ReducesInOrder) {
  std::string letters;
  for (int at = 0; at < 100; ++at) letters += static_cast<char>('a' + at % 26);
  const std::string joined = tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, letters.size(), 3), std::string(),
      [&](const auto& range, const std::string& part) { return part + letters.substr(range.begin(), range.size()); },
      [](const std::string& a, const std::string& b) { return a + b; });
  EXPECT_EQ(joined, letters);
}

TEST(StandIn, Sorts) {
  std::mt19937 random(1);
  for (const std::size_t size : {0, 1, 3, 1000}) {
    std::vector<unsigned> values(size);
    for (unsigned& value : values) value = static_cast<unsigned>(random() % 100);
    tbb::parallel_sort(values.begin(), values.end());
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
    tbb::parallel_sort(values.begin(), values.end(), std::greater<>());
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end(), std::greater<>()));
  }
}

TEST(StandIn, CarriesAnExceptionToTheCaller) {
  EXPECT_THROW(tbb::parallel_for(0, 100,
                                 [](int at) {
                                   if (at == 37) throw std::out_of_range("37");
                                 }),
               std::out_of_range);
}

// Numbers 0 to 99 through a chain that doubles them; the stage that is asked to fails at number 50.
std::vector<int> run_pipeline(int failing_stage) {
  int next = 0;
  std::vector<int> seen;
  const auto fail_at_50 = [=](int stage, int value) {
    if (stage == failing_stage && value == 50) throw std::out_of_range("50");
  };
  tbb::parallel_pipeline(8, tbb::make_filter<void, std::shared_ptr<int>>(tbb::filter_mode::serial_in_order,
                                                                         [&](tbb::flow_control& control) {
                                                                           if (next == 100) control.stop();
                                                                           fail_at_50(0, next);
                                                                           return std::make_shared<int>(next++);
                                                                         }) &
                                tbb::make_filter<std::shared_ptr<int>, int>(tbb::filter_mode::parallel,
                                                                            [&](const std::shared_ptr<int>& value) {
                                                                              fail_at_50(1, *value);
                                                                              return 2 * *value;
                                                                            }) &
                                tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, [&](int doubled) {
                                  fail_at_50(2, doubled / 2);
                                  seen.push_back(doubled);
                                }));
  return seen;
}

TEST(StandIn, APipelineKeepsTheOrder) {
  const std::vector<int> seen = run_pipeline(-1);
  ASSERT_THAT(seen, SizeIs(100));
  for (std::size_t at = 0; at < seen.size(); ++at) EXPECT_EQ(seen[at], 2 * static_cast<int>(at));
}

TEST(StandIn, APipelineEndsWithTheExceptionOfAnyStage) {
  for (const int stage : {0, 1, 2}) EXPECT_THROW((void)run_pipeline(stage), std::out_of_range);
}

}  // namespace
