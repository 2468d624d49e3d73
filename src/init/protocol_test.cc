#include "init/protocol.h"

#include <gtest/gtest.h>

#include <random>

namespace cove::wire {
namespace {

ExecRequest example() {
  ExecRequest request;
  request.id = "e1";
  request.user = "user";
  request.cwd = "/";
  request.argv = {"sh", "-c", ""};
  request.env = {"A=1"};
  request.rlimits = {{7, 1024, 65536}};
  request.rows = 24;
  return request;
}

TEST(ExecRequest, ComesBackAsItWasSent) {
  std::string data = example().encode();
  Reader in(data);
  ExecRequest back;
  ASSERT_TRUE(back.decode(in));
  EXPECT_EQ(back.argv, example().argv);
  EXPECT_EQ(back.rlimits.size(), 1u);
  EXPECT_EQ(back.rlimits[0].hard, 65536u);
  EXPECT_EQ(back.rows, 24u);
}

TEST(ExecRequest, MayHaveACompilerThatComesFirst) {
  ExecRequest request = example();
  request.compile = {"cc", "a.c"};
  std::string data = request.encode();
  Reader in(data);
  ExecRequest back;
  ASSERT_TRUE(back.decode(in));
  EXPECT_EQ(back.compile, request.compile);
  EXPECT_EQ(back.argv, request.argv);
  std::string more = data + "x";
  Reader longer(more);
  EXPECT_FALSE(ExecRequest().decode(longer));
}

TEST(ExecRequest, IsRefusedWhenCutAnywhere) {
  std::string data = example().encode();
  for (size_t size = 0; size < data.size(); ++size) {
    Reader in(std::string_view(data).substr(0, size));
    ExecRequest back;
    EXPECT_FALSE(back.decode(in)) << size;
  }
}

TEST(ExecRequest, IsRefusedWithMoreBehindIt) {
  std::string data = example().encode() + "x";
  Reader in(data);
  ExecRequest back;
  EXPECT_FALSE(back.decode(in));
}

TEST(Reader, NeverTrustsALength) {
  for (uint64_t length : {uint64_t{1}, uint64_t{1} << 20, uint64_t{1} << 40, ~uint64_t{0}}) {
    std::string data = Writer().number(length).data();
    Reader text(data);
    EXPECT_EQ(text.text(), "");
    EXPECT_FALSE(text.ok());
    Reader list(data);
    EXPECT_TRUE(list.texts().empty());
    EXPECT_FALSE(list.ok());
  }
}

TEST(Reader, SurvivesNoise) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string data = example().encode();
    for (int flips = 0; flips < 4; ++flips) data[random() % data.size()] = static_cast<char>(random());
    Reader in(data);
    ExecRequest back;
    back.decode(in);
    Reader entry(data);
    Entry::decode(entry);
  }
}

}  // namespace
}  // namespace cove::wire
