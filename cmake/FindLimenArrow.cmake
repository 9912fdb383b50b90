# SPDX-License-Identifier: MIT
# Defines the target limen_arrow (Apache Arrow C++ with Parquet) from a system Arrow with a CMake package,
# else the headers and libraries in a pyarrow wheel: that of LIMEN_PYARROW_DIR, or of .venv in the source folder.
# Otherwise an error that says what to install.
set(LIMEN_PYARROW_DIR "" CACHE PATH "Folder of an installed pyarrow package; empty: the one in .venv")
set(LIMEN_ARROW_MIN_VERSION 21)

if(NOT TARGET limen_arrow AND NOT LIMEN_PYARROW_DIR)
  find_package(Arrow CONFIG QUIET)
  find_package(Parquet CONFIG QUIET)
  if(Arrow_FOUND AND Parquet_FOUND AND Arrow_VERSION VERSION_GREATER_EQUAL LIMEN_ARROW_MIN_VERSION)
    add_library(limen_arrow INTERFACE)
    foreach(name Arrow::arrow Parquet::parquet)
      if(TARGET ${name}_shared)
        target_link_libraries(limen_arrow INTERFACE ${name}_shared)
      else()
        target_link_libraries(limen_arrow INTERFACE ${name}_static)
      endif()
    endforeach()
    message(STATUS "limen: Apache Arrow ${Arrow_VERSION} from ${Arrow_DIR}")
  endif()
endif()

if(NOT TARGET limen_arrow)
  if(LIMEN_PYARROW_DIR)
    set(limen_pyarrow ${LIMEN_PYARROW_DIR})
  else()
    file(GLOB limen_pyarrow ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/pyarrow)
  endif()
  foreach(folder IN LISTS limen_pyarrow)
    # The wheel has libarrow.so.<version> without the plain name that -larrow looks for.
    file(GLOB arrow_library ${folder}/libarrow.so.*)
    file(GLOB parquet_library ${folder}/libparquet.so.*)
    if(arrow_library AND parquet_library AND EXISTS ${folder}/include/parquet/arrow/reader.h AND NOT TARGET limen_arrow)
      list(GET arrow_library 0 arrow_library)
      list(GET parquet_library 0 parquet_library)
      file(STRINGS ${folder}/include/arrow/util/config.h arrow_version REGEX "ARROW_VERSION_STRING ")
      string(REGEX REPLACE ".*\"(.*)\".*" "\\1" arrow_version "${arrow_version}")
      if(arrow_version VERSION_LESS LIMEN_ARROW_MIN_VERSION)
        continue()
      endif()
      # Linking a library by its full path makes CMake put its folder into the build's rpath.
      foreach(part arrow parquet)
        add_library(limen_arrow_${part} SHARED IMPORTED)
        set_target_properties(limen_arrow_${part} PROPERTIES IMPORTED_LOCATION ${${part}_library})
      endforeach()
      add_library(limen_arrow INTERFACE)
      target_include_directories(limen_arrow SYSTEM INTERFACE ${folder}/include)
      target_link_libraries(limen_arrow INTERFACE limen_arrow_parquet limen_arrow_arrow)
      # For installed programs: CMake leaves folders below the project out of INSTALL_RPATH_USE_LINK_PATH.
      set_property(GLOBAL PROPERTY LIMEN_ARROW_FOLDER ${folder})
      message(STATUS "limen: Apache Arrow ${arrow_version} from ${folder}")
    endif()
  endforeach()
endif()

if(NOT TARGET limen_arrow)
  message(FATAL_ERROR "limen: table/ needs Apache Arrow C++ with Parquet, version ${LIMEN_ARROW_MIN_VERSION} or newer, and "
                      "found none. Run scripts/setup, which installs the pyarrow wheel into .venv, or install libarrow-dev "
                      "and libparquet-dev of Apache's package source, or set LIMEN_PYARROW_DIR to an installed pyarrow.")
endif()
