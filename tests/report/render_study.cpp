// SPDX-License-Identifier: MIT
// render_study STUDY.json PAGE.html: the page of a study, for the tests of web/ and for looking at it.
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "limen/report/render.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "render_study STUDY.json PAGE.html\n";
    return 2;
  }
  try {
    std::ifstream in(argv[1], std::ios::binary);
    const std::string study((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::ofstream out(argv[2], std::ios::binary);
    out << limen::report::render_report(study);
    return out.good() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
