# SPDX-License-Identifier: MIT
include(CMakePackageConfigHelpers)
set(LIMEN_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/limen)
install(TARGETS limen_base limen_core EXPORT limenTargets FILE_SET HEADERS)
if(TARGET limen_cli)
  install(TARGETS limen_cli)
endif()
if(TARGET limen_network)
  install(TARGETS limen_network LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/limen)
endif()
install(EXPORT limenTargets NAMESPACE limen:: DESTINATION ${LIMEN_CMAKE_DIR})
configure_package_config_file(cmake/limenConfig.cmake.in ${PROJECT_BINARY_DIR}/limenConfig.cmake
                              INSTALL_DESTINATION ${LIMEN_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/limenConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/limenConfig.cmake ${PROJECT_BINARY_DIR}/limenConfigVersion.cmake
        DESTINATION ${LIMEN_CMAKE_DIR})
