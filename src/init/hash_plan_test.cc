#include "init/hash_plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

namespace cove::init {
namespace {

using namespace hashes;

uint64_t hash_of(std::string_view text, Secret secret = {}) {
  return SipHash::of(secret, reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

// What CPython 3.11 says with PYTHONHASHSEED=0.
TEST(Hashes, AreThoseOfPython) {
  EXPECT_EQ(hash_of("a"), 0x407448d2b89b1813);
  EXPECT_EQ(hash_of("__builtins__"), 0xdf21347bd9466314);
  EXPECT_EQ(hash_of("a somewhat longer text, of more than thirty bytes"), 0xc624c3e7e1c94582);
  TupleHash numbers, none, minus_one;
  for (uint64_t i = 1; i <= 3; ++i) numbers.add(i);
  minus_one.add(~1ull);
  EXPECT_EQ(numbers.end(), 0x7589b9fe71bccebu);
  EXPECT_EQ(none.end(), 0x4fa9d65e2cba1c7bu);
  EXPECT_EQ(minus_one.end(), 0x701d3c382fb8d92du);
}

TEST(Hashes, WalksComeToEveryPlace) {
  for (uint64_t hash : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, uint64_t{0x4c0cb2419623c1f1}}) {
    std::vector<bool> table(8), set(64);
    TableWalk in_table(hash, table.size() - 1);
    for (size_t i = 0; i < table.size() + 32; ++i, in_table.next()) table[in_table.at()] = true;
    SetWalk in_set(hash, set.size() - 1);
    for (size_t i = 0; i < 11 * (set.size() + 32); ++i, in_set.next()) set[in_set.at()] = true;
    EXPECT_EQ(std::count(table.begin(), table.end(), true), 8) << hash;
    EXPECT_EQ(std::count(set.begin(), set.end(), true), 64) << hash;
  }
}

TEST(HashFacts, AreReadWholeOrNotAtAll) {
  auto facts = HashFacts::parse("python 3.11: a b c d e f 10 11");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->text_type, 0xau);
  EXPECT_EQ(facts->frozen_set_type, 0xfu);
  EXPECT_EQ(facts->other_texts, (std::vector<uint64_t>{0x10, 0x11}));
  for (const char* text :
       {"", "python 3.11:", "python 3.11: a b c d e", "python 3.11: a b c d e f x", "python 3.12: a b c d e f",
        "python 3.11: 1 2 3 4 5 6 7 8 9 a b c d e f 10 11 12 13 14 15 16 17 18 19 1a"})
    EXPECT_FALSE(HashFacts::parse(text)) << text;
}

// Memory is whatever the program has made of it.
TEST(HashPlan, IsNoneOfWhatIsNoPython) {
  auto header = std::make_unique<copy::Header>();
  header->runs = 2;
  header->run[0] = {0x1000, 8 * copy::kPage};
  header->run[1] = {~0ull - copy::kPage + 1, copy::kPage};
  std::string pages(9 * copy::kPage, '\0');
  auto facts = HashFacts::parse("python 3.11: 2000 2008 2010 2018 2020 2028");
  ASSERT_TRUE(facts);
  EXPECT_FALSE(plan_hashes(*facts, ProgramPages(*header, pages.data())));
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    for (size_t at = 0; at < pages.size(); at += sizeof(uint64_t)) {
      const uint64_t choices[] = {random(), random() % 32, 0x2000 + random() % 48, 0x1000 + random() % 0x8000,
                                  0x10303,  ~0ull};
      const uint64_t word = choices[random() % std::size(choices)];
      pages.replace(at, sizeof word, reinterpret_cast<const char*>(&word), sizeof word);
    }
    EXPECT_FALSE(plan_hashes(*facts, ProgramPages(*header, pages.data())));
  }
}

TEST(ProgramPages, FindNothingBeyondTheirEnds) {
  auto header = std::make_unique<copy::Header>();
  header->runs = 3;
  header->run[0] = {0x1000, copy::kPage};
  header->run[1] = {0x2000, copy::kPage};  // touches the first
  header->run[2] = {0x9000, copy::kPage};
  const std::string pages(3 * copy::kPage, 'x');
  ProgramPages found(*header, pages.data());
  EXPECT_EQ(found.find(0x1ff8, 16), pages.data() + 0xff8);
  EXPECT_EQ(found.find(0x9000, copy::kPage), pages.data() + 2 * copy::kPage);
  EXPECT_EQ(found.find(0x0fff, 1), nullptr);
  EXPECT_EQ(found.find(0x2ff8, 16), nullptr);
  EXPECT_EQ(found.find(0x9000, copy::kPage + 1), nullptr);
  EXPECT_EQ(found.find(0x9ff8, ~0ull), nullptr);
  EXPECT_EQ(found.find(~0ull, 8), nullptr);
  EXPECT_EQ(found.words(), 3 * copy::kPage / sizeof(uint64_t));
}

}  // namespace
}  // namespace cove::init
