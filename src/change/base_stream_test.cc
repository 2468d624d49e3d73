#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "base/text.h"
#include "change/base_record.h"
#include "change/testing.h"
#include "sys/file.h"

namespace cove::change {
namespace {

const std::string kId(64, 'a');

class Stream : public FolderTest {
 protected:
  // What comes of a stream of these bytes, in an empty folder.
  Result<BaseHead> receive(const std::string& text, const BaseLimits& limits = {}) {
    sys::Pipe pipe = *sys::pipe();
    std::thread writer([&] {
      static_cast<void>(sys::write_all(pipe.write.get(), text));
      pipe.write.reset();
    });
    UniqueFd into = *sys::open(folder("kept"), O_RDONLY | O_DIRECTORY);
    Result<BaseHead> head = receive_base(pipe.read.get(), into.get(), limits);
    char rest[4096];
    while (::read(pipe.read.get(), rest, sizeof rest) > 0) {
    }
    writer.join();
    return head;
  }
  std::string folder(const std::string& name) {
    std::string path = concat(top_, "/", name, "-", ++count_);
    EXPECT_TRUE(sys::mkdir(path, 0700));
    return path;
  }

  int count_ = 0;
};

TEST_F(Stream, BringsARecordAsItIs) {
  write("a", "some\n");
  write("b/c", std::string(300'000, 'x'));
  BaseRecord record = *record_base(open().get());
  sys::Pipe pipe = *sys::pipe();
  std::thread writer([&] {
    EXPECT_TRUE(send_base(record, pipe.write.get()));
    pipe.write.reset();
  });
  UniqueFd into = *sys::open(folder("kept"), O_RDONLY | O_DIRECTORY);
  Result<BaseHead> head = receive_base(pipe.read.get(), into.get());
  writer.join();
  ASSERT_TRUE(head) << head.error().message();
  EXPECT_EQ(head->inode, record.inode);
  EXPECT_EQ(head->entries, record.entries.size());
  BaseRecord again = *load_base(into.get());
  ASSERT_EQ(again.entries.size(), 3u);
  for (const BaseEntry& entry : again.entries) {
    if (entry.kept != Kept::Copy) continue;
    EXPECT_EQ(*read_copy(into.get(), entry.id), record.copies[entry.id]);
  }
  EXPECT_TRUE(changed_since(again, open().get())->empty());
}

TEST_F(Stream, TakesNothingElse) {
  const std::string good =
      "{\"cove_base\":1,\"device\":1,\"inode\":2,\"taken_ns\":3,\"repositories\":[],\"entries\":0,\"uncovered\":0}\n";
  const std::string base = concat("base ", good.size(), "\n", good);
  EXPECT_TRUE(receive(base));
  for (const std::string& bad :
       {std::string(), std::string("base 5\nabc"), std::string("base x\n"), std::string("base -1\n"), base + "more\n",
        "copy ../../../../tmp/cove-out 1\nx" + base, "copy " + std::string(64, '.') + " 1\nx" + base,
        concat("copy ", kId, " 9\nabc"), concat("copy ", kId, "\n"), concat("what ", kId, " 1\nx"),
        std::string(1000, 'x'), std::string("base 3\n{}\n"), concat("base ", good.size() - 1, "\n", good.substr(1))})
    EXPECT_FALSE(receive(bad)) << bad.substr(0, 60);
}

TEST_F(Stream, TakesNoMoreThanARecordCanHave) {
  BaseLimits limits;
  limits.copies = 2;
  limits.all_copies_bytes = 10;
  auto copy = [](char c, size_t size) {
    return concat("copy ", std::string(64, c), " ", size, "\n", std::string(size, 'x'));
  };
  auto code = [&](const std::string& text) { return receive(text, limits).error().code(); };
  EXPECT_EQ(code(copy('a', 11)), Code::Exhausted);
  EXPECT_EQ(code(copy('a', 6) + copy('b', 6)), Code::Exhausted);
  EXPECT_EQ(code(copy('a', 1) + copy('b', 1) + copy('c', 1)), Code::Exhausted);
  EXPECT_EQ(code("base 99999999999\n"), Code::Exhausted);
}

}  // namespace
}  // namespace cove::change
