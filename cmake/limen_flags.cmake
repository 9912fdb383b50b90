# SPDX-License-Identifier: MIT
# Warnings and sanitizers for the project's own targets, linked PRIVATE. Nothing is set globally.
add_library(limen_flags INTERFACE)
target_compile_options(limen_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(LIMEN_WERROR)
  target_compile_options(limen_flags INTERFACE -Werror)
endif()
if(LIMEN_SANITIZE)
  target_compile_options(limen_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                               -fno-omit-frame-pointer)
  target_link_options(limen_flags INTERFACE -fsanitize=address,undefined)
endif()
