// Transfers a record from a process that may read the folder to one that stores records. Blocks, each after a header
// line: "copy ID SIZE" for each copy, then one "base SIZE", then the end.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "change/base_file.h"
#include "sys/file.h"

namespace cove::change {
namespace {

constexpr size_t kBuffer = 256 * 1024;
constexpr size_t kMostLine = 128;
constexpr uint64_t kMostPerEntry = 16 * 1024;  // two paths as long as they can be, in base64, and numbers
constexpr uint64_t kMostBase = uint64_t{1} << 30;

std::unexpected<Error> malformed(std::string_view what) {
  return fail(Code::Invalid, concat("the record of the base is malformed: ", what));
}

class Source {
 public:
  Source(int fd, const Wait& wait) : fd_(fd), wait_(wait) {}

  // Without its end; empty at the end of the stream.
  Result<std::string> line() {
    std::string text;
    while (text.size() < kMostLine) {
      if (at_ == buffer_.size() && !COVE_TRY(fill())) break;
      char c = buffer_[at_++];
      if (c == '\n') return text;
      text += c;
    }
    if (text.empty()) return text;
    return malformed("a line has no end");
  }

  Result<void> copy_to(int file, uint64_t size) {
    while (size > 0) {
      if (at_ == buffer_.size() && !COVE_TRY(fill())) return malformed("it is truncated");
      std::string_view some =
          std::string_view(buffer_).substr(at_, static_cast<size_t>(std::min<uint64_t>(size, kBuffer)));
      COVE_TRY(sys::write_all(file, some));
      at_ += some.size();
      size -= some.size();
    }
    return {};
  }

 private:
  Result<bool> fill() {
    buffer_.resize(kBuffer);
    at_ = 0;
    if (wait_) COVE_TRY(wait_());
    ssize_t count;
    do count = ::read(fd_, buffer_.data(), buffer_.size());
    while (count < 0 && errno == EINTR);
    buffer_.resize(count > 0 ? static_cast<size_t>(count) : 0);
    if (count < 0) return fail_errno("read the record of the base");
    return count > 0;
  }

  int fd_;
  const Wait& wait_;
  std::string buffer_;
  size_t at_ = 0;
};

Result<void> receive_file(Source& source, int folder, const std::string& name, uint64_t size) {
  UniqueFd file = COVE_TRY(sys::openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  return source.copy_to(file.get(), size);
}

// The remaining limits.
struct Room {
  uint64_t copies;
  uint64_t bytes;
};

Result<void> receive_copy(Source& source, int folder, const std::vector<std::string>& words, Room& room) {
  uint64_t size = static_cast<uint64_t>(COVE_TRY(parse_integer(words[2], 0, INT64_MAX)));
  if (!is_copy_id(words[1])) return malformed("a copy has no id");
  if (room.copies == 0 || size > room.bytes) return fail(Code::Exhausted, "the record of the base has too many copies");
  --room.copies;
  room.bytes -= size;
  return receive_file(source, folder, words[1], size);
}

}  // namespace

Result<void> send_base(const BaseRecord& record, int to) {
  for (const auto& [id, content] : record.copies) {
    COVE_TRY(sys::write_all(to, concat("copy ", id, " ", content.size(), "\n")));
    COVE_TRY(sys::write_all(to, content));
  }
  std::string text = base_text(record);
  COVE_TRY(sys::write_all(to, concat("base ", text.size(), "\n")));
  return sys::write_all(to, text);
}

Result<BaseHead> receive_base(int from, int into, const BaseLimits& limits, const Wait& wait) {
  COVE_TRY(sys::mkdirat(into, kCopies, 0700));
  UniqueFd copies = COVE_TRY(sys::openat(into, kCopies, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  Room room{limits.copies, limits.all_copies_bytes};
  uint64_t most = std::min<uint64_t>(kMostBase, (limits.entries + 1) * kMostPerEntry);
  Source source(from, wait);
  while (true) {
    std::vector<std::string> words = split(COVE_TRY(source.line()), ' ');
    if (words.size() == 3 && words[0] == "copy") {
      COVE_TRY(receive_copy(source, copies.get(), words, room));
      continue;
    }
    if (words.size() != 2 || words[0] != "base") return malformed("the base is missing");
    auto size = static_cast<uint64_t>(COVE_TRY(parse_integer(words[1], 0, INT64_MAX)));
    if (size > most) return fail(Code::Exhausted, "the record of the base is too large");
    COVE_TRY(receive_file(source, into, kUnfinished, size));
    break;
  }
  if (!COVE_TRY(source.line()).empty()) return malformed("unexpected data at the end");
  COVE_TRY(finish_base(into));
  return read_base_head(into);
}

}  // namespace cove::change
