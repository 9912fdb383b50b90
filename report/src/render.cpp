// SPDX-License-Identifier: MIT
// A stand-in for the page of web/: the study as it is, readable by programs and in a browser's inspector.
#include "limen/report/render.h"

namespace limen::report {

std::string render_report(std::string_view study_json) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>limen</title></head><body>\n"
      "<p>A study of limen (docs/study.md).</p>\n<script type=\"application/json\" id=\"study\">";
  for (const char letter : study_json) {
    if (letter == '<') {
      page += "\\u003c";  // no text of the study ends the element
    } else {
      page += letter;
    }
  }
  return page + "</script>\n</body></html>\n";
}

}  // namespace limen::report
