# SPDX-License-Identifier: MIT
# Warnings and sanitizers for the project's own targets, linked PRIVATE. Nothing is set globally.
add_library(limen_flags INTERFACE)
target_compile_options(limen_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
# gcc 12 sees overlapping copies in std::string that are not there (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(limen_flags INTERFACE -Wno-restrict)
endif()
if(LIMEN_WERROR)
  target_compile_options(limen_flags INTERFACE -Werror)
endif()
if(LIMEN_SANITIZE)
  target_compile_options(limen_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                               -fno-omit-frame-pointer)
  target_link_options(limen_flags INTERFACE -fsanitize=address,undefined)
endif()
if(LIMEN_SANITIZE_THREAD)
  # oneTBB is not instrumented; a stand-in takes its place.
  target_include_directories(limen_flags INTERFACE ${PROJECT_SOURCE_DIR}/tests/thread_sanitizer)
  target_compile_options(limen_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(limen_flags INTERFACE -fsanitize=thread)
endif()
# For code that only calls the libraries, and that headers make large: under sanitizers, which are slow to compile, it is
# not optimised.
add_library(limen_thin_flags INTERFACE)
if(LIMEN_SANITIZE)
  target_compile_options(limen_thin_flags INTERFACE -O0)
endif()
# For the tests' own code, which takes longer to compile than to run: undefined behaviour is looked for in the libraries and
# the program that they call.
add_library(limen_test_flags INTERFACE)
target_compile_options(limen_test_flags INTERFACE -O0)
if(LIMEN_SANITIZE)
  target_compile_options(limen_test_flags INTERFACE -fno-sanitize=undefined)
endif()
if(LIMEN_FUZZ)
  target_compile_options(limen_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
