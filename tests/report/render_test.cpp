// SPDX-License-Identifier: MIT
#include "limen/report/render.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "limen/base/error.h"

namespace limen::report {
namespace {

using Json = nlohmann::json;

std::string study(const std::string& title) {
  Json json;
  json["format"] = "limen-study";
  json["version"] = 1;
  json["title"] = title;
  return json.dump();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

/// What stands between the tags of the study's element.
std::string embedded(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"study\">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

std::string error_of(const std::string& text) {
  try {
    (void)render_report(text);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

class RenderReport : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_page()) GTEST_SKIP() << "this build has no page";
  }
};

TEST_F(RenderReport, TheStudyIsReadBackAsItWas) {
  const std::string title = "a <b> & \"c\" </script><!--\xE2\x80\xA8\xE2\x80\xA9 \xC3\xA4";
  const std::string page = render_report(study(title));
  EXPECT_EQ(Json::parse(embedded(page))["title"], title);
}

TEST_F(RenderReport, NoTextEndsItsElement) {
  const std::string plain = render_report(study("plain"));
  const std::string page = render_report(study("</script></title><script>alert(1)</script><!--&"));
  EXPECT_EQ(count(page, "</script"), count(plain, "</script"));
  EXPECT_EQ(count(page, "<script"), count(plain, "<script"));
  EXPECT_EQ(count(page, "<!--"), count(plain, "<!--"));
  EXPECT_NE(page.find("<title>&lt;/script&gt;&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!--&amp;</title>"),
            std::string::npos);
  EXPECT_NE(page.find(R"("title":"\u003c/script\u003e\u003c/title\u003e\u003cscript\u003ealert(1))"),
            std::string::npos);
}

TEST_F(RenderReport, SeparatorsOfLinesAreEscaped) {
  const std::string page = render_report(study("x\xE2\x80\xA8y\xE2\x80\xA9z\xE2\x80\xAA"));
  EXPECT_EQ(embedded(page).find("\xE2\x80\xA8"), std::string::npos);
  EXPECT_NE(embedded(page).find("x\\u2028y\\u2029z\xE2\x80\xAA"), std::string::npos);
}

// A page into which the title was put first, and that was then searched for the study's mark, would find it in the
// title.
TEST_F(RenderReport, MarksInTheTitleAreText) {
  const std::string page = render_report(study("@LIMEN_STUDY@ @LIMEN_TITLE@"));
  EXPECT_NE(page.find("<title>@LIMEN_STUDY@ @LIMEN_TITLE@</title>"), std::string::npos);
  EXPECT_EQ(Json::parse(embedded(page))["title"], "@LIMEN_STUDY@ @LIMEN_TITLE@");
}

TEST_F(RenderReport, EqualStudiesGiveEqualBytes) { EXPECT_EQ(render_report(study("a")), render_report(study("a"))); }

TEST_F(RenderReport, AByteOrderMarkIsLeftOut) {
  EXPECT_EQ(render_report("\xEF\xBB\xBF" + study("a")), render_report(study("a")));
}

TEST_F(RenderReport, ThePageNamesNoPlaceOutsideItself) {
  const std::string page = render_report(study("a"));
  EXPECT_NE(page.find("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-"),
            std::string::npos);
  for (const char* part : {" src=\"", "<link", "@import", "<iframe", "<base"}) EXPECT_EQ(count(page, part), 0U) << part;
  EXPECT_LT(page.size(), 500'000U);
}

TEST_F(RenderReport, RefusesWhatIsNoStudy) {
  EXPECT_NE(error_of("{").find("render_report"), std::string::npos);
  EXPECT_NE(error_of("").find("render_report"), std::string::npos);
  EXPECT_EQ(error_of("[]"), "render_report: the JSON is no study: \"format\" must be \"limen-study\"");
  EXPECT_EQ(error_of(R"({"format": "limen-boundary"})"),
            "render_report: the JSON is no study: \"format\" must be \"limen-study\"");
  EXPECT_EQ(error_of(R"({"format": "limen-study", "version": 2, "title": ""})"),
            "render_report: the study's \"version\" must be 1");
  EXPECT_EQ(error_of(R"({"format": "limen-study", "version": 1, "title": 3})"),
            "render_report: the study's \"title\" must be a text");
  EXPECT_NE(error_of(study("a") + "<script>").find("render_report"), std::string::npos);
}

TEST(RenderReportWithoutAPage, SaysWhatToDo) {
  if (has_page()) GTEST_SKIP() << "this build has a page";
  EXPECT_THROW((void)render_report(study("a")), std::runtime_error);
}

}  // namespace
}  // namespace limen::report
