#include "change/git_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "change/content.h"
#include "sys/file.h"

namespace cove::change {
namespace {

constexpr size_t kMostIndex = size_t{512} << 20;
constexpr size_t kMostConfig = 1 << 20;
constexpr size_t kMostPointer = 4096;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// "modules/x" seen from "a/b" as "../../.git/modules/x"; Denied where it leads out of the top.
Result<std::string> resolve(const std::string& folder, const std::string& relative) {
  std::vector<std::string> parts;
  for (const std::string& part : split(join_path(folder, relative), '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return fail(Code::Denied, "git's files are outside the folder");
    } else {
      parts.pop_back();
    }
  }
  return join(parts, "/");
}

Result<std::string> find_git_folder(int top, const std::string& folder) {
  constexpr std::string_view kPointer = "gitdir: ";
  std::string path = join_path(folder, ".git");
  Result<UniqueFd> opened = open_below(top, path, O_PATH | O_NOFOLLOW);
  if (!opened) return fail(std::move(opened).error().as(Code::Denied));
  EntryStat found = COVE_TRY(stat_entry(opened->get(), ""));
  if (found.kind == Kind::Folder) return path;
  std::string pointer = read_small(top, path, kMostPointer);
  if (!pointer.starts_with(kPointer)) return fail(Code::Invalid, concat(path, " is not a git pointer file"));
  std::string target(trim(std::string_view(pointer).substr(kPointer.size())));
  if (target.starts_with('/')) return fail(Code::Denied, "git's files are outside the folder");
  return resolve(folder, target);
}

struct Config {
  HashKind hash = HashKind::Sha1;
  bool converts = false;
};

// Parses only what is needed; an unusual form leads to a checksum error of the index.
Config parse_config(std::string_view text) {
  Config config;
  std::string section;
  for (const std::string& raw : split(text, '\n')) {
    std::string line = lower(trim(raw));
    if (line.starts_with('[')) {
      size_t end = std::min(line.find(']'), line.size() - 1);
      section = line.substr(0, end);
      line.erase(0, end + 1);
    }
    size_t equals = std::min(line.find('='), line.size());
    std::string_view key = trim(std::string_view(line).substr(0, equals));
    std::string_view value = equals < line.size() ? trim(std::string_view(line).substr(equals + 1)) : "true";
    if (section == "[extensions" && key == "objectformat" && value == "sha256") config.hash = HashKind::Sha256;
    if (section == "[core" && key == "autocrlf" && value != "false") config.converts = true;
    if (section == "[core" && key == "attributesfile") config.converts = true;
  }
  return config;
}

Result<void> read_index(int top, GitFolder& git) {
  std::string path = join_path(git.repository.git_folder, "index");
  Result<UniqueFd> file = open_below(top, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file && file.error().code() == Code::NotFound) return {};  // no file was ever added
  if (!file) return fail(std::move(file).error());
  EntryStat found = COVE_TRY(stat_entry(file->get(), ""));
  if (found.kind != Kind::File || found.stamp.size > kMostIndex)
    return fail(Code::Unsupported, "git's index is not a file or too large");
  std::string data = COVE_TRY(sys::read_all(file->get(), kMostIndex));
  git.entries = COVE_TRY(parse_git_index(data, git.repository.hash));
  git.index_modified_ns = found.stamp.modified_ns;
  return {};
}

int64_t cut_to_32_bits(int64_t nanoseconds) {
  constexpr int64_t kSecond = 1'000'000'000;
  return static_cast<int64_t>(static_cast<uint32_t>(nanoseconds / kSecond)) * kSecond + nanoseconds % kSecond;
}

int64_t together(uint32_t seconds, uint32_t nanoseconds) { return int64_t{seconds} * 1'000'000'000 + nanoseconds; }

}  // namespace

Result<GitFolder> open_git_folder(int top, const std::string& folder) {
  GitFolder git;
  git.repository.folder = folder;
  git.repository.git_folder = COVE_TRY(find_git_folder(top, folder));
  auto read = [&](const char* name) {
    return read_small(top, join_path(git.repository.git_folder, name), kMostConfig);
  };
  Config config = parse_config(read("config"));
  git.repository.hash = config.hash;
  git.converts = config.converts || asks_for_conversion(read("info/attributes"));
  git.exclude = read("info/exclude");
  COVE_TRY(read_index(top, git));
  return git;
}

// A file that was written at the same time as the index, or later, may have changed within one clock tick. Size 0 is
// not trusted either, because git uses it to mark files that must be read again.
bool is_clean(const Found& file, const IndexEntry& entry, int64_t index_modified_ns) {
  int64_t modified = together(entry.modified_seconds, entry.modified_nanoseconds);
  return modified == cut_to_32_bits(file.stamp.modified_ns) &&
         together(entry.changed_seconds, entry.changed_nanoseconds) == cut_to_32_bits(file.stamp.changed_ns) &&
         entry.inode == static_cast<uint32_t>(file.stamp.inode) &&
         entry.size == static_cast<uint32_t>(file.stamp.size) && entry.size != 0 &&
         modified < cut_to_32_bits(index_modified_ns);
}

bool asks_for_conversion(std::string_view attributes) {
  constexpr std::string_view kWords[] = {"text", "eol", "crlf", "filter", "ident", "encoding", "[attr]"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return attributes.find(word) != attributes.npos; });
}

}  // namespace cove::change
