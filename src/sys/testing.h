#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

// Skips the test, or fails it if COVE_TEST_STRICT=1.
#define SKIP_OR_FAIL(why)                                                      \
  do {                                                                         \
    const char* strict = ::getenv("COVE_TEST_STRICT");                         \
    if (strict != nullptr && std::string_view(strict) == "1") FAIL() << (why); \
    GTEST_SKIP() << (why);                                                     \
  } while (false)

#define ASSERT_OK(...)                                                 \
  do {                                                                 \
    auto&& ok_result = (__VA_ARGS__);                                  \
    ASSERT_TRUE(ok_result.has_value()) << ok_result.error().message(); \
  } while (false)

#define EXPECT_OK(...)                                                 \
  do {                                                                 \
    auto&& ok_result = (__VA_ARGS__);                                  \
    EXPECT_TRUE(ok_result.has_value()) << ok_result.error().message(); \
  } while (false)
