# Flags that all of Cove is built with, and the functions that add its targets.
add_library(cove_flags INTERFACE)
# -iquote: <sys/socket.h> is the system's, "sys/socket.h" is ours.
target_compile_options(cove_flags INTERFACE -iquote${CMAKE_SOURCE_DIR}/src -iquote${CMAKE_BINARY_DIR}/generated)
target_compile_options(cove_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-missing-field-initializers)
target_compile_definitions(cove_flags INTERFACE _GNU_SOURCE COVE_VERSION="${PROJECT_VERSION}")
if(COVE_SANITIZE)
  add_compile_options(-fsanitize=${COVE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${COVE_SANITIZE})
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # What ccache must overlook to work with precompiled headers, and so that checkouts share what they compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()

# The standard headers that take the compiler longest are compiled once, with the first library, for all of them.
set(COVE_COMMON_HEADERS <algorithm> <chrono> <expected> <functional> <map> <memory> <mutex> <optional> <set> <string> <string_view>
  <thread> <utility> <variant> <vector>)

# cove_library(NAME SOURCES… DEPENDS folders… [PRECOMPILED header]): one folder of src/, with what it may use spelled out.
# PRECOMPILED: a header of its own that nearly all of its files include, compiled once for them.
function(cove_library name)
  cmake_parse_arguments(arg "" "PRECOMPILED" "SOURCES;DEPENDS" ${ARGN})
  add_library(cove_${name} STATIC ${arg_SOURCES})
  target_link_libraries(cove_${name} PUBLIC cove_flags)
  get_property(first GLOBAL PROPERTY COVE_FIRST_LIBRARY)
  if(arg_PRECOMPILED)
    target_precompile_headers(cove_${name} PRIVATE ${COVE_COMMON_HEADERS} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_PRECOMPILED})
  elseif(first)
    target_precompile_headers(cove_${name} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY COVE_FIRST_LIBRARY cove_${name})
    target_precompile_headers(cove_${name} PRIVATE ${COVE_COMMON_HEADERS})
  endif()
  foreach(dependency ${arg_DEPENDS})
    target_link_libraries(cove_${name} PUBLIC cove_${dependency})
  endforeach()
endfunction()

# A program that starts in about a millisecond: statically linked (but for sanitized builds).
function(cove_static_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE cove_flags)
  foreach(dependency ${arg_DEPENDS})
    target_link_libraries(${name} PRIVATE cove_${dependency})
  endforeach()
  if(NOT COVE_SANITIZE)
    set_target_properties(${name} PROPERTIES COVE_STATIC ON)
    target_link_options(${name} PRIVATE -static-pie -Wl,--gc-sections -Wl,-z,relro,-z,now)
  endif()
endfunction()

# A program that runs inside a sandbox: freestanding in spirit, never sanitized, always static.
function(cove_inside_program name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE cove_flags)
  target_compile_options(${name} PRIVATE -Os -fno-sanitize=all -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections)
  target_link_options(${name} PRIVATE -fno-sanitize=all -static-pie -Wl,--gc-sections -Wl,-z,relro,-z,now)
endfunction()

# cove_test(NAME SOURCES… DEPENDS…): a GoogleTest program, one ctest entry.
function(cove_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE cove_flags GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE -O0)  # it is built more often than run
  # GoogleTest's headers are compiled once, with the first of them.
  get_property(first GLOBAL PROPERTY COVE_FIRST_TEST)
  if(first)
    target_precompile_headers(${name} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY COVE_FIRST_TEST ${name})
    target_precompile_headers(${name} PRIVATE <chrono> <functional> <gmock/gmock.h> <gtest/gtest.h> <map> <memory> <nlohmann/json.hpp> <string> <thread> <vector>)
  endif()
  foreach(dependency ${arg_DEPENDS})
    target_link_libraries(${name} PRIVATE cove_${dependency})
  endforeach()
  add_test(NAME ${name} COMMAND ${name})
endfunction()
