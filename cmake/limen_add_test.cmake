# SPDX-License-Identifier: MIT
# limen_add_test(NAME LIBS targets... LABELS labels... [SOURCES extra.cpp...] [OPTIMIZED] [COST seconds] [TSAN_WITHOUT cases])
# One GoogleTest program from NAME.cpp, run by ctest as one test. Its own code has limen_test_flags, except with OPTIMIZED:
# for tests that compute much themselves. Label `torch`: its process loads torch. Label `slow`: not under sanitizers. Label
# `threads`: also under the thread sanitizer, where the others are not built; TSAN_WITHOUT: long cases (a GoogleTest filter) that
# are left out there, as they use one thread or say nothing new about several. COST: of a long test, which then starts first.
function(limen_add_test name)
  cmake_parse_arguments(ARG "OPTIMIZED" "COST;TSAN_WITHOUT" "LIBS;LABELS;SOURCES" ${ARGN})
  add_executable(${name} ${name}.cpp ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} limen_flags limen_test_support GTest::gmock GTest::gtest_main)
  if(NOT ARG_OPTIMIZED)
    target_link_libraries(${name} PRIVATE limen_test_flags)
    target_precompile_headers(${name} REUSE_FROM limen_test_headers)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
  if(LIMEN_SANITIZE_THREAD)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
      "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/thread_sanitizer/suppressions.txt;GTEST_FILTER=-${ARG_TSAN_WITHOUT}")
    if(NOT "threads" IN_LIST ARG_LABELS)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endif()
  if(LIMEN_SANITIZE AND "torch" IN_LIST ARG_LABELS)
    # Torch is not instrumented: containers that it fills look wrong. The search for leaks crashes in the thread-local
    # memory of a library that was loaded late.
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
      "ASAN_OPTIONS=detect_odr_violation=0:detect_container_overflow=0:detect_leaks=0")
  endif()
endfunction()
