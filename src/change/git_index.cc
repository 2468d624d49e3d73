#include "change/git_index.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/text.h"

namespace cove::change {
namespace {

constexpr size_t kHeader = 12;
constexpr uint16_t kExtended = 0x4000;
constexpr uint16_t kStage = 0x3000;
constexpr uint16_t kNameLength = 0x0fff;
constexpr uint16_t kIntentToAdd = 0x2000;  // of the extended flags
constexpr size_t kMostPath = 4096;

std::unexpected<Error> damaged(std::string_view what) {
  return fail(Code::Invalid, concat("git's index is damaged: ", what));
}

// Reads numbers in network byte order.
class Bytes {
 public:
  explicit Bytes(std::string_view data) : rest_(data) {}
  size_t left() const { return rest_.size(); }
  std::string_view rest() const { return rest_; }
  bool has(size_t count) const { return rest_.size() >= count; }
  std::string_view take(size_t count) {
    std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  uint32_t number(size_t bytes) {
    uint32_t value = 0;
    for (unsigned char byte : take(bytes)) value = value << 8 | byte;
    return value;
  }

 private:
  std::string_view rest_;
};

class Parser {
 public:
  Parser(std::string_view data, HashKind hash) : data_(data), hash_(hash), bytes_(data) {}

  Result<std::vector<IndexEntry>> run() {
    uint32_t count = COVE_TRY(read_header());
    std::vector<IndexEntry> entries;
    entries.reserve(std::min<size_t>(count, data_.size() / kLeastEntry));
    for (uint32_t i = 0; i < count; ++i) entries.push_back(COVE_TRY(read_entry()));
    COVE_TRY(read_extensions());
    return entries;
  }

 private:
  static constexpr size_t kStat = 40;
  static constexpr size_t kLeastEntry = kStat + 20 + 2;

  Result<uint32_t> read_header() {
    size_t trailer = hash_bytes(hash_);
    if (data_.size() < kHeader + trailer) return damaged("it is too short");
    if (bytes_.take(4) != "DIRC") return damaged("wrong signature");
    COVE_TRY(check_trailer());
    bytes_ = Bytes(data_.substr(4, data_.size() - 4 - trailer));
    version_ = bytes_.number(4);
    if (version_ < 2 || version_ > 4) return fail(Code::Unsupported, concat("git's index has version ", version_));
    return bytes_.number(4);
  }

  // Zeros: the checksum was disabled (index.skipHash).
  Result<void> check_trailer() const {
    size_t size = hash_bytes(hash_);
    std::string_view trailer = data_.substr(data_.size() - size);
    if (trailer.find_first_not_of('\0') == trailer.npos) return {};
    Digest digest(hash_);
    digest.update(data_.substr(0, data_.size() - size));
    if (digest.bytes() != trailer) return damaged("its checksum is wrong");
    return {};
  }

  Result<IndexEntry> read_entry() {
    size_t before = bytes_.left();
    if (!bytes_.has(kStat + hash_bytes(hash_) + 2)) return damaged("an entry is truncated");
    IndexEntry entry;
    entry.changed_seconds = bytes_.number(4);
    entry.changed_nanoseconds = bytes_.number(4);
    entry.modified_seconds = bytes_.number(4);
    entry.modified_nanoseconds = bytes_.number(4);
    bytes_.take(4);  // the device, which changes at a reboot; git ignores it, too
    entry.inode = bytes_.number(4);
    entry.mode = bytes_.number(4);
    bytes_.take(8);  // owner and group
    entry.size = bytes_.number(4);
    entry.id = to_hex(bytes_.take(hash_bytes(hash_)));
    auto flags = static_cast<uint16_t>(bytes_.number(2));
    uint16_t extended = 0;
    if (flags & kExtended) {
      if (version_ < 3 || !bytes_.has(2)) return damaged("an entry has invalid flags");
      extended = static_cast<uint16_t>(bytes_.number(2));
    }
    entry.has_blob = (flags & kStage) == 0 && (extended & kIntentToAdd) == 0;
    COVE_TRY(version_ == 4 ? read_shortened_path() : read_path(flags & kNameLength, before));
    entry.path = path_;
    return entry;
  }

  // Ends with 1 to 8 zeros, so that the entry's size is a multiple of 8.
  Result<void> read_path(size_t length, size_t before) {
    size_t end = bytes_.rest().find('\0');
    if (end == std::string_view::npos || end > kMostPath || (length < kNameLength && end != length))
      return damaged("a name has no valid end");
    path_ = bytes_.take(end);
    size_t used = before - bytes_.left();
    size_t padding = 8 - used % 8;
    if (!bytes_.has(padding)) return damaged("an entry is truncated");
    bytes_.take(padding);
    return {};
  }

  // How many bytes to remove from the previous path, then what to append.
  Result<void> read_shortened_path() {
    size_t cut = COVE_TRY(read_offset());
    size_t end = bytes_.rest().find('\0');
    if (cut > path_.size() || end == std::string_view::npos || path_.size() - cut + end > kMostPath)
      return damaged("a compressed name is invalid");
    path_.erase(path_.size() - cut);
    path_ += bytes_.take(end);
    bytes_.take(1);
    return {};
  }

  // Encoded like offsets in packs: 7 bits per byte, plus one for each following byte.
  Result<size_t> read_offset() {
    if (!bytes_.has(1)) return damaged("an entry is truncated");
    uint32_t byte = bytes_.number(1);
    size_t value = byte & 127;
    while (byte & 128) {
      if (!bytes_.has(1) || value > kMostPath) return damaged("a compressed name is invalid");
      byte = bytes_.number(1);
      value = ((value + 1) << 7) | (byte & 127);
    }
    return value;
  }

  // Optional extensions begin with a capital letter. Of the others, only that of sparse folders is supported.
  Result<void> read_extensions() {
    while (bytes_.left() > 0) {
      if (!bytes_.has(8)) return damaged("an extension is truncated");
      std::string_view name = bytes_.take(4);
      uint32_t size = bytes_.number(4);
      if (!bytes_.has(size)) return damaged("an extension is truncated");
      bytes_.take(size);
      bool optional = name[0] >= 'A' && name[0] <= 'Z';
      if (!optional && name != "sdir") return fail(Code::Unsupported, concat("git's index has an extension ", name));
    }
    return {};
  }

  std::string_view data_;
  HashKind hash_;
  Bytes bytes_;
  uint32_t version_ = 0;
  std::string path_;  // of the entry before
};

}  // namespace

Result<std::vector<IndexEntry>> parse_git_index(std::string_view data, HashKind hash) {
  return Parser(data, hash).run();
}

}  // namespace cove::change
