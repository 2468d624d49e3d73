#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.h"
#include "tar/testing.h"

namespace cove::tar {
namespace {

using testing::archive_of;
using testing::source_of;

Reader reader_of(const std::string& archive) { return std::move(*Reader::create(source_of(archive))); }

std::string data_of(Reader& reader) {
  UniqueFd file(::memfd_create("data", MFD_CLOEXEC));
  EXPECT_TRUE(reader.copy_to(file.get()));
  ::lseek(file.get(), 0, SEEK_SET);
  return *sys::read_all(file.get());
}

TEST(Tar, GoesThereAndBack) {
  std::string long_name = std::string(150, 'n') + "/" + std::string(200, 'm');
  Reader reader = reader_of(archive_of({{{.name = "a.txt", .mode = 0640, .mtime = 1234}, "hello"},
                                        {{.name = "b", .mode = 04755, .uid = 1000, .gid = 2000}, "x"},
                                        {{.name = "d/", .kind = Kind::Folder, .mode = 0755}, ""},
                                        {{.name = "l", .kind = Kind::Symlink, .link = std::string(300, 't')}, ""},
                                        {{.name = "h", .kind = Kind::HardLink, .link = "a.txt"}, ""},
                                        {{.name = "n\xc3\xa4me \xff"}, ""},
                                        {{.name = long_name}, std::string(1000, 'x')}}));
  std::optional<Entry> entry = *reader.next();
  EXPECT_EQ(entry->name, "a.txt");
  EXPECT_EQ(entry->mode, 0640u);
  EXPECT_EQ(entry->mtime, 1234);
  entry = *reader.next();  // what was not read is passed over
  EXPECT_EQ(data_of(reader), "x");
  EXPECT_EQ(entry->mode, 04755u);
  EXPECT_EQ(entry->uid, 1000u);
  EXPECT_EQ(entry->gid, 2000u);
  EXPECT_EQ((*reader.next())->kind, Kind::Folder);
  EXPECT_EQ((*reader.next())->link, std::string(300, 't'));
  entry = *reader.next();
  EXPECT_EQ(entry->kind, Kind::HardLink);
  EXPECT_EQ(entry->link, "a.txt");
  EXPECT_EQ((*reader.next())->name, "n\xc3\xa4me \xff");
  entry = *reader.next();
  EXPECT_EQ(entry->name, long_name);
  EXPECT_EQ(entry->size, 1000u);
  EXPECT_EQ(data_of(reader), std::string(1000, 'x'));
  EXPECT_FALSE(*reader.next());
}

// An archive of a file of a terabyte, as far as it comes.
TEST(Tar, HoldsFilesOfAnySize) {
  std::string begun;
  {
    Writer writer = *Writer::create([&](std::string_view data) -> Result<void> {
      begun += data;
      return {};
    });
    ASSERT_TRUE(writer.add({.name = "big", .size = uint64_t{1} << 40}));
    ASSERT_TRUE(writer.write(std::string(100'000, 'x')));
  }
  EXPECT_LT(begun.size(), 200'000u);
  Reader reader = reader_of(begun);
  EXPECT_EQ((*reader.next())->size, uint64_t{1} << 40);
  EXPECT_EQ(reader.next().error().code(), Code::Invalid);
}

TEST(Tar, HasNoEndWhereItWasNotFinished) {
  std::string archive;
  {
    Writer writer = *Writer::create([&](std::string_view data) -> Result<void> {
      archive += data;
      return {};
    });
    ASSERT_TRUE(writer.add({.name = "a", .size = 70'000}));
    ASSERT_TRUE(writer.write(std::string(70'000, 'x')));
  }
  Reader reader = reader_of(archive);
  Result<std::optional<Entry>> entry = reader.next();
  while (entry && *entry) entry = reader.next();
  EXPECT_FALSE(entry);
}

TEST(Tar, RefusesWhatIsNone) {
  std::string good = archive_of({{{.name = "a"}, "hello"}});
  std::string checksum = good, number = good;
  checksum[0] = 'b';
  number.replace(124, 3, "xyz");
  std::string second = good.substr(0, 1024) + checksum;
  for (const std::string& bad : {std::string(), std::string("short"), std::string(512, 'x'), checksum, number, second,
                                 good.substr(0, 600), good.substr(0, 1024), std::string("\x1f\x8b\x08\0", 4)}) {
    Result<Reader> reader = Reader::create(source_of(bad));
    if (!reader) continue;
    Result<std::optional<Entry>> entry = reader->next();
    while (entry && *entry) entry = reader->next();
    EXPECT_FALSE(entry) << bad.size();
    if (!entry) {
      EXPECT_EQ(entry.error().code(), Code::Invalid);
    }
  }
}

TEST(Tar, FailsAsItsSourceAndItsSinkDo) {
  auto lost = [](std::span<char>) -> Result<size_t> { return fail(Code::Denied, "no more"); };
  EXPECT_EQ(Reader::create(lost).error().code(), Code::Denied);
  Writer writer = *Writer::create([](std::string_view) -> Result<void> { return fail(Code::Denied, "no room"); });
  ASSERT_TRUE(writer.add({.name = "a", .size = 100'000}));
  EXPECT_EQ(writer.write(std::string(100'000, 'x')).error().code(), Code::Denied);
}

TEST(Tar, KeepsWhatAShrunkFileWas) {
  std::string archive;
  Writer writer = *Writer::create([&](std::string_view data) -> Result<void> {
    archive += data;
    return {};
  });
  UniqueFd file(::memfd_create("short", MFD_CLOEXEC));
  ASSERT_TRUE(sys::write_all(file.get(), "abc"));
  ::lseek(file.get(), 0, SEEK_SET);
  ASSERT_TRUE(writer.add({.name = "a", .size = 5}));
  EXPECT_EQ(*writer.write_from(file.get(), 5), 3u);
  ASSERT_TRUE(writer.finish());
  Reader reader = reader_of(archive);
  ASSERT_TRUE(*reader.next());
  EXPECT_EQ(data_of(reader), std::string("abc\0\0", 5));
}

}  // namespace
}  // namespace cove::tar
