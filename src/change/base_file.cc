// Records on disk: docs/formats/review-base.md.
#include "change/base_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/json.h"
#include "base/text.h"
#include "sys/file.h"

namespace cove::change {
namespace {

constexpr int kVersion = 1;
constexpr const char* kFile = "base";
constexpr size_t kMostHead = 1 << 20;

// Each enumeration by names, in the order of its values.
constexpr std::string_view kKinds[] = {"file", "folder", "link", "other"};
constexpr std::string_view kKept[] = {"blob", "copy", "hash", "stat"};
constexpr std::string_view kGaps[] = {"mount", "unreadable", "changing", "too_deep", "repository"};
constexpr std::string_view kHashes[] = {"sha1", "sha256"};

template <typename Enum, size_t kCount>
std::string_view name_of(Enum value, const std::string_view (&names)[kCount]) {
  return names[static_cast<size_t>(value)];
}

std::unexpected<Error> damaged(std::string_view what) {
  return fail(Code::Invalid, concat("the record of the base is damaged: ", what));
}

template <typename Enum, size_t kCount>
Result<Enum> value_of(const Json& line, const char* field, const std::string_view (&names)[kCount]) {
  auto found = line.find(field);
  if (!found || !found->is_string()) return damaged(concat(field, " is missing"));
  auto name = std::ranges::find(names, found->as_string());
  if (name == std::end(names)) return damaged(concat(field, " has an unknown value"));
  return static_cast<Enum>(name - std::begin(names));
}

template <typename Number>
Result<Number> number_of(const Json& line, const char* field) {
  auto found = line.find(field);
  if (!found || !found->is_number_integer()) return damaged(concat(field, " is missing"));
  return found->template get<Number>();
}

// Names of files are bytes; JSON is UTF-8.
void put_bytes(Json& line, const std::string& field, const std::string& bytes) {
  if (is_utf8(bytes))
    line[field] = bytes;
  else
    line[field + "_base64"] = to_base64(bytes);
}

Result<std::string> bytes_of(const Json& line, const std::string& field) {
  auto plain = line.find(field);
  if (plain && plain->is_string()) return plain->get<std::string>();
  auto encoded = line.find(field + "_base64");
  if (!encoded || !encoded->is_string()) return damaged(concat(field, " is missing"));
  std::optional<std::string> bytes = from_base64(encoded->as_string());
  if (!bytes) return damaged(concat(field, " is not base64"));
  return *bytes;
}

Json head_line(const BaseRecord& record) {
  Json repositories = Json::array();
  for (const Repository& repository : record.repositories) {
    Json one = {{"hash", name_of(repository.hash, kHashes)}};
    put_bytes(one, "folder", repository.folder);
    put_bytes(one, "git_folder", repository.git_folder);
    repositories.push_back(std::move(one));
  }
  return {{"cove_base", kVersion},
          {"device", record.device},
          {"inode", record.inode},
          {"taken_ns", record.taken_ns},
          {"repositories", repositories},
          {"entries", record.entries.size()},
          {"uncovered", record.uncovered.size()}};
}

Json entry_line(const BaseEntry& entry) {
  Json line = {{"kind", name_of(entry.kind, kKinds)},
               {"mode", entry.mode},
               {"size", entry.stamp.size},
               {"modified_ns", entry.stamp.modified_ns},
               {"changed_ns", entry.stamp.changed_ns},
               {"inode", entry.stamp.inode}};
  put_bytes(line, "path", entry.path);
  if (entry.kind == Kind::Link) put_bytes(line, "target", entry.target);
  if (entry.kind != Kind::File) return line;
  line["kept"] = name_of(entry.kept, kKept);
  if (entry.kept != Kept::Stat) line["id"] = entry.id;
  if (entry.kept == Kept::Blob) line["repository"] = entry.repository;
  return line;
}

Json uncovered_line(const Uncovered& uncovered) {
  Json line = {{"gap", name_of(uncovered.gap, kGaps)}};
  put_bytes(line, "path", uncovered.path);
  return line;
}

bool is_id(std::string_view id) {
  return (id.size() == 40 || id.size() == 64) && id.find_first_not_of("0123456789abcdef") == id.npos;
}

Result<Repository> read_repository(const Json& line) {
  Repository repository;
  repository.folder = COVE_TRY(bytes_of(line, "folder"));
  repository.git_folder = COVE_TRY(bytes_of(line, "git_folder"));
  repository.hash = COVE_TRY(value_of<HashKind>(line, "hash", kHashes));
  return repository;
}

Result<BaseEntry> read_entry(const Json& line, size_t repositories) {
  BaseEntry entry;
  entry.path = COVE_TRY(bytes_of(line, "path"));
  entry.kind = COVE_TRY(value_of<Kind>(line, "kind", kKinds));
  entry.mode = COVE_TRY(number_of<uint32_t>(line, "mode"));
  entry.stamp.size = COVE_TRY(number_of<uint64_t>(line, "size"));
  entry.stamp.modified_ns = COVE_TRY(number_of<int64_t>(line, "modified_ns"));
  entry.stamp.changed_ns = COVE_TRY(number_of<int64_t>(line, "changed_ns"));
  entry.stamp.inode = COVE_TRY(number_of<uint64_t>(line, "inode"));
  if (entry.kind == Kind::Link) entry.target = COVE_TRY(bytes_of(line, "target"));
  if (entry.kind != Kind::File) return entry;
  entry.kept = COVE_TRY(value_of<Kept>(line, "kept", kKept));
  if (entry.kept != Kept::Stat) entry.id = COVE_TRY(bytes_of(line, "id"));
  if (entry.kept != Kept::Stat && !is_id(entry.id)) return damaged("an id is invalid");
  if (entry.kept == Kept::Blob) entry.repository = COVE_TRY(number_of<size_t>(line, "repository"));
  if (entry.kept == Kept::Blob && entry.repository >= repositories) return damaged("a repository is missing");
  return entry;
}

// Lines of JSON objects, one after the other.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  Result<Json> next() {
    size_t end = rest_.find('\n');
    if (end == rest_.npos) return damaged("it is truncated");
    Json line = Json::parse(rest_.substr(0, end)).value_or(Json());
    rest_.remove_prefix(end + 1);
    if (!line.is_object()) return damaged("a line is not an object");
    return line;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

Result<void> write_file(int folder, const std::string& name, std::string_view data) {
  UniqueFd file = COVE_TRY(sys::openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  COVE_TRY_NOTE(concat("write ", name), sys::write_all(file.get(), data));
  return {};
}

Result<void> save_copies(const BaseRecord& record, int into) {
  if (record.copies.empty()) return {};
  Result<void> made = sys::mkdirat(into, kCopies, 0700);
  if (!made && made.error().code() != Code::Exists) return made;
  UniqueFd folder = COVE_TRY(sys::openat(into, kCopies, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  for (const auto& [id, content] : record.copies) COVE_TRY(write_file(folder.get(), id, content));
  return {};
}

Result<BaseHead> numbers_of(const Json& head) {
  BaseHead numbers;
  numbers.device = COVE_TRY(number_of<uint64_t>(head, "device"));
  numbers.inode = COVE_TRY(number_of<uint64_t>(head, "inode"));
  numbers.entries = COVE_TRY(number_of<uint64_t>(head, "entries"));
  numbers.uncovered = COVE_TRY(number_of<uint64_t>(head, "uncovered"));
  return numbers;
}

}  // namespace

bool is_copy_id(std::string_view id) {
  constexpr size_t kSize = 64;
  return id.size() == kSize && is_id(id);
}

Result<void> save_base(const BaseRecord& record, int into) {
  COVE_TRY(save_copies(record, into));
  COVE_TRY(write_file(into, kUnfinished, base_text(record)));
  return finish_base(into);
}

std::string base_text(const BaseRecord& record) {
  std::string text = head_line(record).dump() + "\n";
  for (const BaseEntry& entry : record.entries) text += entry_line(entry).dump() + "\n";
  for (const Uncovered& uncovered : record.uncovered) text += uncovered_line(uncovered).dump() + "\n";
  return text;
}

Result<void> finish_base(int into) {
  if (::renameat(into, kUnfinished, into, kFile) < 0) return fail_errno("rename base.new");
  return {};
}

Result<BaseHead> read_base_head(int from) {
  UniqueFd file = COVE_TRY(sys::openat(from, kFile, O_RDONLY | O_NOFOLLOW));
  std::string text(kMostHead, '\0');
  ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  if (size < 0) return fail_errno("read base");
  std::string_view start = std::string_view(text).substr(0, static_cast<size_t>(size));
  if (start.find('\n') == std::string_view::npos) return damaged("its first line has no end");
  Lines lines(start);
  Json head = COVE_TRY(lines.next());
  if (head.value("cove_base", Json()) != kVersion) return damaged("unknown version");
  return numbers_of(head);
}

Result<BaseRecord> load_base(int from) {
  std::string text = COVE_TRY(sys::read_file_at(from, kFile));
  Lines lines(text);
  Json head = COVE_TRY(lines.next());
  if (head.value("cove_base", Json()) != kVersion)
    return fail(Code::Unsupported, "the record of the base has another version");
  BaseHead numbers = COVE_TRY(numbers_of(head));
  BaseRecord record;
  record.device = numbers.device;
  record.inode = numbers.inode;
  record.taken_ns = COVE_TRY(number_of<int64_t>(head, "taken_ns"));
  auto repositories = head.find("repositories");
  if (repositories == head.end() || !repositories->is_array()) return damaged("repositories is missing");
  for (const Json& one : *repositories) record.repositories.push_back(COVE_TRY(read_repository(one)));
  for (uint64_t i = 0; i < numbers.entries; ++i)
    record.entries.push_back(COVE_TRY(read_entry(COVE_TRY(lines.next()), record.repositories.size())));
  for (uint64_t i = 0; i < numbers.uncovered; ++i) {
    Json line = COVE_TRY(lines.next());
    record.uncovered.push_back({COVE_TRY(bytes_of(line, "path")), COVE_TRY(value_of<Gap>(line, "gap", kGaps))});
  }
  if (!lines.at_end()) return damaged("unexpected data at the end");
  return record;
}

Result<std::string> read_copy(int from, const std::string& id) {
  if (!is_id(id)) return fail(Code::Invalid, concat("invalid id '", id, "'"));
  std::string content = COVE_TRY(sys::read_file_at(from, concat(kCopies, "/", id)));
  Digest digest(HashKind::Sha256);
  digest.update(content);
  if (digest.hex() != id) return damaged(concat("the copy ", id, " was changed"));
  return content;
}

}  // namespace cove::change
