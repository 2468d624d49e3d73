#include "client/tar.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace cove::client {
namespace {

constexpr size_t kMaxText = 1 << 20;
constexpr uint64_t kMaxOctalSize = 077777777777;

// The fields of a header block: where they begin and how long they are.
struct Field {
  size_t begin;
  size_t size;
};
constexpr Field kName = {0, 100}, kMode = {100, 8}, kUid = {108, 8}, kGid = {116, 8}, kSize = {124, 12},
                kTime = {136, 12}, kChecksum = {148, 8}, kTarget = {157, 100}, kPrefix = {345, 155};
constexpr size_t kType = 156;
constexpr Field kMagic = {257, 8};

std::unexpected<Error> no_tar(std::string_view what) {
  return fail(Code::Invalid, concat("this is not a tar archive: ", what));
}

void put(std::string& block, Field field, std::string_view text) {
  block.replace(field.begin, std::min(field.size, text.size()), text.substr(0, field.size));
}

void put_octal(std::string& block, Field field, uint64_t number) {
  char digits[32];
  int width = static_cast<int>(field.size) - 1;
  std::snprintf(digits, sizeof digits, "%0*llo", width, static_cast<unsigned long long>(number));
  put(block, field, digits);
}

unsigned checksum_of(std::string_view block) {
  unsigned sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    bool own = i >= kChecksum.begin && i < kChecksum.begin + kChecksum.size;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

char type_of(TarKind kind) {
  switch (kind) {
    case TarKind::Folder:
      return '5';
    case TarKind::Symlink:
      return '2';
    case TarKind::HardLink:
      return '1';
    default:
      return '0';
  }
}

TarKind kind_of(char type) {
  switch (type) {
    case '0':
    case '\0':
    case '7':
      return TarKind::File;
    case '1':
      return TarKind::HardLink;
    case '2':
      return TarKind::Symlink;
    case '5':
      return TarKind::Folder;
    default:
      return TarKind::Other;
  }
}

std::string make_block(char type, const TarEntry& entry) {
  std::string block(kTarBlock, '\0');
  put(block, kName, entry.name);
  put_octal(block, kMode, entry.mode & 07777);
  put_octal(block, kUid, 0);
  put_octal(block, kGid, 0);
  put_octal(block, kSize, std::min(entry.size, kMaxOctalSize));
  put_octal(block, kTime, static_cast<uint64_t>(std::max<int64_t>(0, entry.mtime)));
  block[kType] = type;
  put(block, kTarget, entry.target);
  put(block, kMagic, std::string_view("ustar\00000", 8));
  char sum[8];
  std::snprintf(sum, sizeof sum, "%06o", checksum_of(block));
  put(block, {kChecksum.begin, 8}, std::string(sum) + std::string("\0 ", 2));
  return block;
}

// "LENGTH NAME=VALUE\n", where the length counts its own digits.
std::string pax_record(std::string_view name, std::string_view value) {
  size_t bare = name.size() + value.size() + 3;
  size_t size = bare + 1;
  while (size != bare + std::to_string(size).size()) ++size;
  return concat(size, " ", name, "=", value, "\n");
}

std::string_view text_field(std::string_view block, Field field) {
  std::string_view text = block.substr(field.begin, field.size);
  return text.substr(0, text.find('\0'));
}

// Octal, or GNU's binary form for what does not fit.
Result<uint64_t> number_field(std::string_view block, Field field) {
  std::string_view text = block.substr(field.begin, field.size);
  if ((static_cast<unsigned char>(text[0]) & 0x80) != 0) {
    uint64_t number = 0;
    for (char c : text.substr(text.size() - 8)) number = number << 8 | static_cast<unsigned char>(c);
    if (number > INT64_MAX) return no_tar("a number");
    return number;
  }
  text = trim(text.substr(0, text.find('\0')));
  uint64_t number = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number, 8);
  if (!text.empty() && (status != std::errc() || end != text.data() + text.size())) return no_tar("a number");
  return number;
}

std::string full_name(std::string_view block) {
  std::string_view name = text_field(block, kName);
  bool posix = text_field(block, {kMagic.begin, 6}) == "ustar";
  std::string_view prefix = posix ? text_field(block, kPrefix) : std::string_view();
  return prefix.empty() ? std::string(name) : concat(prefix, "/", name);
}

Result<TarEntry> parse_block(std::string_view block) {
  if (COVE_TRY(number_field(block, kChecksum)) != checksum_of(block)) return no_tar("a checksum is wrong");
  TarEntry entry;
  entry.name = full_name(block);
  entry.kind = kind_of(block[kType]);
  entry.mode = static_cast<uint32_t>(COVE_TRY(number_field(block, kMode)) & 07777);
  entry.size = COVE_TRY(number_field(block, kSize));
  entry.mtime = static_cast<int64_t>(COVE_TRY(number_field(block, kTime)));
  entry.target = text_field(block, kTarget);
  return entry;
}

}  // namespace

std::string encode_tar_header(const TarEntry& entry) {
  std::string records;
  if (entry.name.size() > kName.size) records += pax_record("path", entry.name);
  if (entry.target.size() > kTarget.size) records += pax_record("linkpath", entry.target);
  if (entry.size > kMaxOctalSize) records += pax_record("size", std::to_string(entry.size));
  std::string block = make_block(type_of(entry.kind), entry);
  if (records.empty()) return block;
  TarEntry extension{"pax", TarKind::Other, 0644, records.size(), entry.mtime, ""};
  return make_block('x', extension) + records + tar_padding(records.size()) + block;
}

std::string tar_padding(uint64_t size) {
  return std::string(static_cast<size_t>((kTarBlock - size % kTarBlock) % kTarBlock), '\0');
}

std::string tar_end() { return std::string(2 * kTarBlock, '\0'); }

Result<bool> TarReader::read_block(std::string& block) {
  block.assign(kTarBlock, '\0');
  size_t filled = 0;
  while (filled < kTarBlock) {
    size_t count = COVE_TRY(source_(block.data() + filled, kTarBlock - filled));
    if (count == 0 && filled == 0) return false;
    if (count == 0) return no_tar("it breaks off");
    filled += count;
  }
  return true;
}

Result<size_t> TarReader::read(char* data, size_t size) {
  if (left_ == 0) return 0;
  size_t count = COVE_TRY(source_(data, static_cast<size_t>(std::min<uint64_t>(size, left_))));
  if (count == 0) return no_tar("it breaks off");
  left_ -= count;
  return count;
}

Result<void> TarReader::skip_rest() {
  left_ += padding_;
  padding_ = 0;
  std::vector<char> data(65536);
  while (left_ > 0) COVE_TRY(read(data.data(), data.size()));
  return {};
}

Result<std::string> TarReader::read_text() {
  if (left_ > kMaxText) return no_tar("a name is too long");
  std::string text(static_cast<size_t>(left_), '\0');
  size_t filled = 0;
  while (filled < text.size()) filled += COVE_TRY(read(text.data() + filled, text.size() - filled));
  return text;
}

Result<void> TarReader::extend(char type, Extension& extension) {
  std::string text = COVE_TRY(read_text());
  if (type == 'L') extension.name = text.substr(0, text.find('\0'));
  if (type == 'K') extension.target = text.substr(0, text.find('\0'));
  std::string_view rest = text;
  while (type == 'x' && !rest.empty()) {
    size_t length = 0;
    auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    size_t digits = static_cast<size_t>(end - rest.data());
    if (status != std::errc() || length > rest.size() || length < digits + 3) return no_tar("an extended header");
    std::string_view record = rest.substr(digits + 1, length - digits - 2);
    std::string_view name = record.substr(0, record.find('='));
    std::string_view value = record.substr(std::min(record.size(), name.size() + 1));
    if (name == "path") extension.name = value;
    if (name == "linkpath") extension.target = value;
    if (name == "size") extension.size = static_cast<uint64_t>(COVE_TRY(parse_integer(value, 0, INT64_MAX)));
    rest.remove_prefix(length);
  }
  return {};
}

Result<std::optional<TarEntry>> TarReader::next() {
  Extension extension;
  std::string block;
  while (true) {
    COVE_TRY(skip_rest());
    if (!COVE_TRY(read_block(block))) return no_tar("its end is missing");
    if (block.find_first_not_of('\0') == std::string::npos) return std::nullopt;
    TarEntry entry = COVE_TRY(parse_block(block));
    char type = block[kType];
    bool extends = type == 'x' || type == 'g' || type == 'L' || type == 'K';
    if (extension.size && !extends) entry.size = *extension.size;
    left_ = entry.size;
    if (!extends && entry.kind != TarKind::File && entry.kind != TarKind::Other) left_ = 0;
    padding_ = (kTarBlock - left_ % kTarBlock) % kTarBlock;
    if (extends) {
      COVE_TRY(extend(type, extension));
      continue;
    }
    if (!extension.name.empty()) entry.name = extension.name;
    if (!extension.target.empty()) entry.target = extension.target;
    if (entry.kind == TarKind::File && entry.name.ends_with('/')) entry.kind = TarKind::Folder;
    return entry;
  }
}

}  // namespace cove::client
