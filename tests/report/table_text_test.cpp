// SPDX-License-Identifier: MIT
#include "limen/report/table_text.h"

#include <gtest/gtest.h>

#include "limen/base/error.h"

namespace limen::report {
namespace {

const TextTable kTable{.header = {"a|b", "x_1"}, .rows = {{"<script>", "5% & \"more\""}, {"", "two\nlines"}}};

TEST(TableText, EscapesMarkdown) {
  EXPECT_EQ(markdown(kTable), "| a\\|b | x\\_1 |\n|---|---|\n| &lt;script> | 5% & \"more\" |\n|  | two lines |\n");
}

TEST(TableText, QuotesCsv) { EXPECT_EQ(csv(kTable), "a|b,x_1\n<script>,\"5% & \"\"more\"\"\"\n,\"two\nlines\"\n"); }

TEST(TableText, EscapesLatex) {
  EXPECT_EQ(latex(kTable),
            "\\begin{tabular}{ll}\n\\toprule\na|b & x\\_1 \\\\\n\\midrule\n<script> & 5\\% \\& \"more\" \\\\\n"
            " & two lines \\\\\n\\bottomrule\n\\end{tabular}\n");
}

TEST(TableText, RefusesARowOfAnotherLength) {
  EXPECT_THROW((void)csv({.header = {"a"}, .rows = {{"1", "2"}}}), InvalidInput);
}

}  // namespace
}  // namespace limen::report
