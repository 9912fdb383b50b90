// SPDX-License-Identifier: MIT
#include "limen/report/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "limen/base/error.h"
#include "limen/report/diagram.h"
#include "limen/report/heat_map.h"

namespace limen::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Empty, or what keeps the text from being well-formed XML: tags that do not pair, a stray < or & in text or values.
std::string xml_problem(const std::string& text) {
  std::vector<std::string> open;
  bool had_root = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '&') {
      const std::size_t end = text.find(';', at);
      const std::string entity = end == std::string::npos ? "" : text.substr(at, end - at + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;") return "a stray &";
      at = end + 1;
      continue;
    }
    if (static_cast<unsigned char>(text[at]) < 0x20 && text[at] != '\n') return "a control character";
    if (text[at] != '<') {
      ++at;
      continue;
    }
    const bool is_end = text[at + 1] == '/';
    std::size_t name = at + (is_end ? 2 : 1);
    std::size_t end = name;
    while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) ++end;
    const std::string tag = text.substr(name, end - name);
    if (tag.empty()) return "a stray <";
    bool is_quoted = false;
    while (end < text.size() && (is_quoted || text[end] != '>')) {
      if (text[end] == '"') is_quoted = !is_quoted;
      if (text[end] == '<') return "a < in a tag";
      ++end;
    }
    if (end >= text.size()) return "a tag without an end";
    if (open.empty() && had_root) return "a second root";
    had_root = true;
    if (is_end) {
      if (open.empty() || open.back() != tag) return "</" + tag + "> without its beginning";
      open.pop_back();
    } else if (text[end - 1] != '/') {
      open.push_back(tag);
    }
    at = end + 1;
  }
  return open.empty() ? "" : "<" + open.back() + "> without an end";
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(XmlProblem, FindsWhatItLooksFor) {
  EXPECT_EQ(xml_problem("<svg><g a=\"1\"/></svg>\n"), "");
  for (const char* bad : {"<svg>", "<svg></g></svg>", "<svg>a & b</svg>", "<svg>1 < 2</svg>", "<svg/><svg/>"}) {
    EXPECT_NE(xml_problem(bad), "") << bad;
  }
}

LineChart two_points() {
  LineChart chart{.title = "t",
                  .description = "d",
                  .x = {.label = "x", .low = 0, .high = 10},
                  .y = {.label = "y", .low = 0, .high = 1}};
  chart.series.push_back({.name = "a", .x = {0, 5, 10}, .y = {0, 1, 0.5}});
  return chart;
}

// The plot is from x = 58 to 440 - 14 = 426 and, with one line of legend, from y = 28 + 15 = 43 to 300 - 44 = 256.
TEST(LineChart, PutsKnownPointsWhereTheyBelong) {
  EXPECT_THAT(line_chart_svg(two_points()), HasSubstr("d=\"M58 256L242 43L426 149.5\""));
}

TEST(LineChart, StepsHoldTheirValueToTheNextPoint) {
  LineChart chart = two_points();
  chart.series[0].mark = Series::Mark::kStep;
  EXPECT_THAT(line_chart_svg(chart), HasSubstr("d=\"M58 256L242 256L242 43L426 43L426 149.5\""));
}

TEST(LineChart, LiftsThePenAtAGapAndDrawsPointsAndErrorBars) {
  LineChart chart = two_points();
  chart.series[0].y = {0, kNan, 0.5};
  EXPECT_THAT(line_chart_svg(chart), HasSubstr("d=\"M58 256M426 149.5\""));
  chart.series[0].mark = Series::Mark::kPoints;
  chart.series[0].low = {0, 0, 0.25};
  chart.series[0].high = {0.5, 1, 0.75};
  const std::string svg = line_chart_svg(chart);
  EXPECT_EQ(count_of(svg, "<circle"), 2);
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"426\" cy=\"149.5\""));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"426\" y1=\"202.75\" x2=\"426\" y2=\"96.25\""));
}

TEST(LineChart, ABandGoesUpTheHighEndsAndBackTheLowOnes) {
  LineChart chart = two_points();
  chart.series[0].low = {0, 0.5, 0.5};
  chart.series[0].high = {1, 1, 0.5};
  EXPECT_THAT(line_chart_svg(chart), HasSubstr("d=\"M58 43L242 43L426 149.5L426 149.5L242 149.5L58 256Z\""));
}

TEST(LineChart, TicksAreRound) {
  LineChart chart = two_points();
  chart.y.percent = true;
  const std::string svg = line_chart_svg(chart);
  for (const char* tick : {">0%<", ">20%<", ">100%<", ">0<", ">2<", ">10<"}) EXPECT_THAT(svg, HasSubstr(tick));
  chart.y = {.label = "y", .low = 0.0012, .high = 0.0031};
  EXPECT_THAT(line_chart_svg(chart), HasSubstr(">0.0015<"));
}

TEST(Drawings, AreWellFormedEscapedAndTheSameEveryTime) {
  const std::string evil = "<script>&\"'\x01 a\nb";
  LineChart lines = two_points();
  lines.title = lines.description = lines.series[0].name = lines.x.label = lines.y.label = evil;
  lines.has_diagonal = lines.has_zero_line = true;
  BarChart bars{.title = evil,
                .description = evil,
                .groups = {evil, "b"},
                .y = {.label = evil},
                .series = {{.name = evil, .values = {1, kNan}, .low = {0.5, kNan}, .high = {1.5, kNan}}}};
  HeatMap map{.title = evil,
              .description = evil,
              .x_label = evil,
              .y_label = evil,
              .columns = {evil, "2"},
              .rows = {evil},
              .values = {{1, kNan}},
              .star = {{0, 0}},
              .lines = {{.name = evil, .at = {1.5}}}};
  Diagram diagram{
      .title = evil, .description = evil, .boxes = {{{evil}, 0, 0}, {{"b"}, 1, 0}}, .arrows = {{0, 1, evil}}};
  const auto all = [&] {
    return std::vector{line_chart_svg(lines), bar_chart_svg(bars), heat_map_svg(map), diagram_svg(diagram)};
  };
  const std::vector<std::string> drawings = all();
  for (const std::string& svg : drawings) {
    EXPECT_EQ(xml_problem(svg), "");
    EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    EXPECT_THAT(svg, HasSubstr("<title>&lt;script&gt;&amp;&quot;'  a b</title>"));
    EXPECT_THAT(svg, HasSubstr("<desc>&lt;script&gt;"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
  }
  EXPECT_EQ(drawings, all());
}

// One group of two bars over 368 units, the outer tenths free: bars of 147.2 from 94.8 and 242 on. y is from -1 to 1.
TEST(BarChart, BarsStandOnZero) {
  const BarChart chart{.groups = {"g"},
                       .y = {.label = "y", .low = -1, .high = 1},
                       .series = {{.name = "a", .values = {1}}, {.name = "b", .values = {-0.5}}}};
  const std::string svg = bar_chart_svg(chart);
  EXPECT_THAT(svg, HasSubstr("<rect x=\"94.8\" y=\"43\" width=\"147.2\" height=\"106.5\""));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"242\" y=\"149.5\" width=\"147.2\" height=\"53.25\""));
}

TEST(BarChart, StackedBarsStandUponEachOther) {
  BarChart chart{.groups = {"g"},
                 .y = {.label = "y", .low = 0, .high = 1},
                 .series = {{.name = "a", .values = {0.25}}, {.name = "b", .values = {0.75}}},
                 .is_stacked = true};
  const std::string svg = bar_chart_svg(chart);
  EXPECT_THAT(svg, HasSubstr("y=\"202.75\" width=\"294.4\" height=\"53.25\""));
  EXPECT_THAT(svg, HasSubstr("y=\"43\" width=\"294.4\" height=\"159.75\""));
  chart.series[0].values = {-1};
  EXPECT_THROW((void)bar_chart_svg(chart), InvalidInput);
}

TEST(HeatMap, WritesValuesStarAndLineIntoTheirCells) {
  HeatMap map{.columns = {"1", "2"},
              .rows = {"a", "b"},
              .values = {{0, 1}, {0.5, kNan}},
              .digits = 2,
              .star = {{0, 1}},
              .lines = {{.name = "l", .at = {1, std::nullopt}}}};
  const std::string svg = heat_map_svg(map);
  EXPECT_EQ(count_of(svg, "<rect"), 3);
  for (const char* text : {">0.00<", ">1.00 \xE2\x98\x85<", ">0.50<"}) EXPECT_THAT(svg, HasSubstr(text));
  // Cells are 194.95 wide from 40.1 on, and 109.5 high below 260: the line is at the end of column 1, then of 2.
  EXPECT_THAT(svg, HasSubstr("d=\"M235.05 260L235.05 150.5L430 150.5L430 41\""));
  map.percent = true;
  EXPECT_THAT(heat_map_svg(map), HasSubstr(">50.00%<"));
}

TEST(Drawings, RefuseWhatDoesNotFit) {
  LineChart lines = two_points();
  lines.series[0].y.pop_back();
  EXPECT_THROW((void)line_chart_svg(lines), InvalidInput);
  EXPECT_THROW((void)line_chart_svg({}), InvalidInput);
  lines = two_points();
  lines.x = {.low = 1, .high = 0};
  EXPECT_THROW((void)line_chart_svg(lines), InvalidInput);
  lines = two_points();
  lines.width = 99;
  EXPECT_THROW((void)line_chart_svg(lines), InvalidInput);
  EXPECT_THROW((void)bar_chart_svg({.groups = {"g"}, .series = {{.values = {1, 2}}}}), InvalidInput);
  EXPECT_THROW((void)heat_map_svg({.columns = {"1"}, .rows = {"a"}, .values = {{1, 2}}}), InvalidInput);
  EXPECT_THROW((void)heat_map_svg({.columns = {"1"}, .rows = {"a"}, .values = {{1}}, .star = {{0, 1}}}), InvalidInput);
  EXPECT_THROW((void)diagram_svg({.boxes = {{{"a"}, 0, 0}}, .arrows = {{0, 1}}}), InvalidInput);
}

}  // namespace
}  // namespace limen::report
