# SPDX-License-Identifier: MIT
# limen_add_test(NAME LIBS targets... LABELS labels... [SOURCES extra.cpp...])
# One GoogleTest program from NAME.cpp, run by ctest as one test.
function(limen_add_test name)
  cmake_parse_arguments(ARG "" "" "LIBS;LABELS;SOURCES" ${ARGN})
  add_executable(${name} ${name}.cpp ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} limen_flags limen_test_support GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
