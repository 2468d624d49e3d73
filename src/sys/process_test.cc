#include "sys/process.h"

#include <gtest/gtest.h>

namespace cove::sys {
namespace {

cpu_set_t cpus(std::initializer_list<int> numbers) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int number : numbers) CPU_SET(number, &set);
  return set;
}

TEST(SomeOf, TakesSoManyFromAnywhere) {
  const cpu_set_t allowed = cpus({0, 2, 5});
  const std::pair<unsigned, cpu_set_t> kByStart[] = {{0, cpus({0, 2})}, {1, cpus({2, 5})}, {2, cpus({5, 0})}};
  for (const auto& [start, expected] : kByStart) {
    cpu_set_t chosen = some_of(allowed, 2, start);
    EXPECT_TRUE(CPU_EQUAL(&chosen, &expected)) << start;
  }
}

TEST(SomeOf, TakesAllWhereMoreAreAskedFor) {
  const cpu_set_t allowed = cpus({1, 3});
  cpu_set_t chosen = some_of(allowed, 8, 7);
  EXPECT_TRUE(CPU_EQUAL(&chosen, &allowed));
}

}  // namespace
}  // namespace cove::sys
