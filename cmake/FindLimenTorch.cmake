# SPDX-License-Identifier: MIT
# Defines the target limen_torch (libtorch, the parts that compute on the processor) when there is one: that of
# LIMEN_TORCH_DIR (a folder with include and lib), else of the torch wheel in .venv, else of the system, 1.13 or newer.
# Otherwise one status line. LIMEN_WITH_TORCH=OFF leaves it out. Torch's own CMake package is not used: its flags would
# reach every target, and it looks for compilers and libraries that only its other parts need.
option(LIMEN_WITH_TORCH "Train networks, when libtorch is found" ON)
set(LIMEN_TORCH_DIR "" CACHE PATH "Folder of libtorch, with include and lib; empty: the one in .venv, else the system's")

if(LIMEN_WITH_TORCH AND NOT TARGET limen_torch)
  if(LIMEN_TORCH_DIR)
    set(limen_torch_folders ${LIMEN_TORCH_DIR})
  else()
    file(GLOB limen_torch_folders ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
    list(APPEND limen_torch_folders /usr/local /usr)
  endif()
  foreach(folder IN LISTS limen_torch_folders)
    set(version_file ${folder}/include/torch/csrc/api/include/torch/version.h)
    set(headers ${folder}/include)
    # 2.8 and newer keep the numbers in a header of their own.
    if(EXISTS ${folder}/include/torch/headeronly/version.h)
      set(version_file ${folder}/include/torch/headeronly/version.h)
    endif()
    find_library(limen_torch_cpu torch_cpu PATHS ${folder}/lib ${folder}/lib/${CMAKE_LIBRARY_ARCHITECTURE}
                 NO_DEFAULT_PATH NO_CACHE)
    find_library(limen_torch_c10 c10 PATHS ${folder}/lib ${folder}/lib/${CMAKE_LIBRARY_ARCHITECTURE}
                 NO_DEFAULT_PATH NO_CACHE)
    if(limen_torch_cpu AND limen_torch_c10 AND EXISTS ${folder}/include/ATen/ATen.h AND EXISTS ${version_file}
       AND NOT TARGET limen_torch)
      file(STRINGS ${version_file} torch_version REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
      string(REGEX REPLACE "[^0-9;]" "" torch_version "${torch_version}")
      string(REPLACE ";" "." torch_version "${torch_version}")
      if(torch_version VERSION_GREATER_EQUAL 1.13)
        foreach(part cpu c10)
          add_library(limen_torch_${part} SHARED IMPORTED)
          set_target_properties(limen_torch_${part} PROPERTIES IMPORTED_LOCATION ${limen_torch_${part}})
        endforeach()
        add_library(limen_torch INTERFACE)
        target_include_directories(limen_torch SYSTEM INTERFACE ${headers}
                                                                ${headers}/torch/csrc/api/include)
        target_link_libraries(limen_torch INTERFACE limen_torch_cpu limen_torch_c10)
        # For the installed module: CMake leaves folders below the project out of INSTALL_RPATH_USE_LINK_PATH.
        get_filename_component(torch_library_folder ${limen_torch_cpu} DIRECTORY)
        set_property(GLOBAL PROPERTY LIMEN_TORCH_FOLDER ${torch_library_folder})
        message(STATUS "limen: torch ${torch_version} from ${folder}")
      endif()
    endif()
    unset(limen_torch_cpu)
    unset(limen_torch_c10)
  endforeach()
endif()

if(NOT TARGET limen_torch)
  message(STATUS "limen: torch not found: built without networks (train, predict)")
endif()
