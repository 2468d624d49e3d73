#include "cli/run_values.h"

#include <limits.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "cli/git_author.h"
#include "image/reference.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

constexpr size_t kMaxEnvFile = 4 << 20;
constexpr size_t kMaxName = 63;
constexpr size_t kMaxUser = 32;
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kAlphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kWordCharacters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-";

bool only(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

bool is_user_id(const std::string& text) {
  constexpr int64_t kHighest = UINT32_MAX - 1;  // the last one means "no user"
  return parse_integer(text, 0, kHighest).has_value() && only(text, kDigits);
}

Result<void> add_line(Environment& environment, const std::string& line) {
  if (trim(line).empty() || trim(line).starts_with('#')) return {};
  if (line.find('\0') != std::string::npos) return fail(Code::Invalid, "a variable cannot contain a NUL byte");
  return add_variable(environment, line);
}

// Splits "a:b" at the last colon; b is empty if there is none.
std::pair<std::string, std::string> split_at_colon(const std::string& text) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

void set_variable(Environment& environment, const std::string& name, const std::string& value) {
  auto same =
      std::find_if(environment.begin(), environment.end(), [&](const auto& each) { return each.first == name; });
  if (same != environment.end())
    same->second = value;
  else
    environment.emplace_back(name, value);
}

Result<void> add_variable(Environment& environment, const std::string& text) {
  size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  if (name.empty()) return fail(Error(Code::Invalid, concat("'", text, "' has no name")).hint("write it as KEY=VALUE"));
  if (equals != std::string::npos) {
    set_variable(environment, name, text.substr(equals + 1));
  } else if (const char* own = std::getenv(name.c_str())) {
    set_variable(environment, name, own);
  }
  return {};
}

Result<void> add_variables_of_file(Environment& environment, const std::string& path) {
  std::string text = COVE_TRY(sys::read_file(path, kMaxEnvFile + 1));
  if (text.size() > kMaxEnvFile)
    return fail(Code::Invalid, concat(path, " is larger than ", format_bytes(kMaxEnvFile)));
  size_t number = 0;
  for (std::string& line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    COVE_TRY_NOTE(concat(path, ", line ", number), add_line(environment, line));
  }
  return {};
}

Result<std::pair<std::string, std::string>> parse_label(const std::string& text) {
  size_t equals = text.find('=');
  std::string key = text.substr(0, equals);
  if (key.empty()) return fail(Error(Code::Invalid, concat("'", text, "' has no key")).hint("write it as KEY=VALUE"));
  return std::pair(key, equals == std::string::npos ? "" : text.substr(equals + 1));
}

Result<std::string> parse_name(const std::string& text) {
  bool valid =
      !text.empty() && text.size() <= kMaxName && only(text, kWordCharacters) && only(text.substr(0, 1), kAlphanumeric);
  if (valid) return text;
  return fail(Error(Code::Invalid, concat("'", text, "' is not a name"))
                  .hint("1 to 63 letters, digits, '_', '.' and '-', the first a letter or a digit"));
}

Result<std::string> parse_user(const std::string& text) {
  size_t colon = text.find(':');
  bool ids = is_user_id(text.substr(0, colon)) && (colon == std::string::npos || is_user_id(text.substr(colon + 1)));
  bool name = !text.empty() && text.size() <= kMaxUser && only(text, kWordCharacters) &&
              std::string_view("0123456789.-").find(text[0]) == std::string_view::npos;
  if (ids || name) return text;
  return fail(Error(Code::Invalid, concat("'", text, "' is not a user")).hint("write a name, like root, or UID[:GID]"));
}

Result<std::string> parse_image(const std::string& text) {
  constexpr std::string_view kPrefix = "host@";
  if (text == "host") return text;
  std::string_view print = std::string_view(text).substr(std::min(text.size(), kPrefix.size()));
  if (text.starts_with(kPrefix) && print.size() == 16 && only(print, "0123456789abcdef")) return text;
  if (text.starts_with(kPrefix))
    return fail(
        Error(Code::Invalid, concat("'", text, "' is not an image")).hint("a fingerprint has 16 hexadecimal digits"));
  if (!is_digest(text)) COVE_TRY(parse_reference(text));
  return text;
}

Result<Workspace> parse_workspace(const std::string& text) {
  Access access = Access::ReadOnly;
  std::string path = text;
  for (Access each : {Access::ReadOnly, Access::ReadWrite, Access::Review}) {
    std::string end = concat(":", std::string_view(access_name(each)));
    if (!text.ends_with(end)) continue;
    access = each;
    path.resize(text.size() - end.size());
  }
  if (path.empty()) return fail(Code::Invalid, "the path is empty");
  char absolute[PATH_MAX];
  if (::realpath(path.c_str(), absolute) == nullptr) {
    Error missing = Error::from_errno(errno, concat("folder ", path));
    if (!path.contains(':')) return fail(std::move(missing));
    return fail(std::move(missing).hint("only ro, rw or review may follow the last ':'"));
  }
  struct stat info = COVE_TRY(sys::stat(absolute));
  if (!S_ISDIR(info.st_mode)) return fail(Code::Invalid, concat(path, " is not a folder"));
  if (std::string_view(absolute) == "/")
    return fail(Error(Code::Invalid, "the whole machine cannot be a workspace").hint("name the folder to work on"));
  return Workspace{.path = absolute, .access = access, .author = git_author(absolute)};
}

Result<CopyIn> parse_copy_in(const std::string& text) {
  CopyIn copy{text, ""};
  if (!sys::exists(text)) std::tie(copy.source, copy.destination) = split_at_colon(text);
  if (copy.source.empty())
    return fail(Error(Code::Invalid, concat("'", text, "' names no file")).hint("write it as SRC[:DST]"));
  struct stat info = COVE_TRY(sys::stat(copy.source));
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
    return fail(Code::Invalid, concat(copy.source, " is neither a file nor a folder"));
  if (::access(copy.source.c_str(), R_OK) < 0) return fail_errno(concat("read ", copy.source));
  return copy;
}

Result<CopyOut> parse_copy_out(const std::string& text) {
  auto [glob, folder] = split_at_colon(text);
  if (glob.empty())
    return fail(Error(Code::Invalid, concat("'", text, "' names no files")).hint("write it as GLOB[:DIR]"));
  auto info = sys::stat(folder.empty() ? "." : folder);
  if (info && !S_ISDIR(info->st_mode)) return fail(Code::Invalid, concat(folder, " is not a folder"));
  return CopyOut{glob, folder};
}

Result<uint64_t> parse_ulimit(const std::string& text) {
  constexpr std::string_view kFiles = "nofile=";
  if (!text.starts_with(kFiles))
    return fail(Error(Code::Unsupported, concat("'", text, "' is not supported")).hint("write it as nofile=N"));
  return static_cast<uint64_t>(COVE_TRY(parse_integer(std::string_view(text).substr(kFiles.size()), 1, INT32_MAX)));
}

Result<std::string> parse_workdir(const std::string& text) {
  if (text.starts_with('/')) return text;
  return fail(Error(Code::Invalid, concat("'", text, "' is not an absolute path"))
                  .hint(concat("write the path inside the sandbox, like ", std::string_view(kWorkspacePath))));
}

}  // namespace cove::cli
