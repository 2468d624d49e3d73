#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tar/reader.h"
#include "tar/writer.h"

// Archives for tests.
namespace cove::tar::testing {

inline Reader::Source source_of(const std::string& archive) {
  return [archive, at = size_t{0}](std::span<char> buffer) mutable -> Result<size_t> {
    // In small pieces, as a socket would give them.
    size_t count = std::min({buffer.size(), archive.size() - at, size_t{100}});
    std::memcpy(buffer.data(), archive.data() + at, count);
    at += count;
    return count;
  };
}

struct Member {
  Entry entry;
  std::string data;
};

inline std::string archive_of(std::vector<Member> members) {
  std::string archive;
  Writer writer = *Writer::create([&](std::string_view data) -> Result<void> {
    archive += data;
    return {};
  });
  for (Member& member : members) {
    member.entry.size = member.data.size();
    EXPECT_TRUE(writer.add(member.entry));
    EXPECT_TRUE(member.data.empty() || writer.write(member.data));
  }
  EXPECT_TRUE(writer.finish());
  return archive;
}

}  // namespace cove::tar::testing
