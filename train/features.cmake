# SPDX-License-Identifier: MIT
# From raw columns to a network's inputs, and splits of rows: needs neither torch nor Arrow.
add_library(limen_features STATIC)
add_library(limen::features ALIAS limen_features)
set_target_properties(limen_features PROPERTIES POSITION_INDEPENDENT_CODE ON VERIFY_INTERFACE_HEADER_SETS ON)
target_sources(limen_features
  PRIVATE
    src/column_fitter.cpp
    src/counters.cpp
    src/feature_encode.cpp
    src/feature_fitter.cpp
    src/feature_json.cpp
    src/feature_transform.cpp
    src/fingerprint.cpp
    src/json_fields.cpp
    src/label_counter.cpp
    src/schema.cpp
    src/split.cpp
  PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
    include/limen/train/feature_rows.h
    include/limen/train/features.h
    include/limen/train/fingerprint.h
    include/limen/train/schema.h
    include/limen/train/split.h)
target_include_directories(limen_features PRIVATE src)
target_link_libraries(limen_features PUBLIC limen::core
                      PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:limen_flags>)
