# SPDX-License-Identifier: MIT
# Fails unless the README contains the example file, from its first include on.
file(READ ${README} readme)
file(READ ${EXAMPLE} example)
string(FIND "${example}" "#include" begin)
string(SUBSTRING "${example}" ${begin} -1 body)
string(FIND "${readme}" "${body}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "${README} does not show ${EXAMPLE}")
endif()
