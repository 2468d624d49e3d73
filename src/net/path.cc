#include "net/path.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/encoding.h"
#include "base/text.h"

namespace cove::net {
namespace {

constexpr size_t kLongestPath = 4096;

// Sequences that are not well formed stay as they are.
std::string decode_once(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool encoded =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    if (!encoded) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  return out;
}

// No honest path is encoded more often than this.
std::optional<std::string> decode_all(std::string text) {
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    std::string decoded = decode_once(text);
    if (decoded == text) return text;
    text = std::move(decoded);
  }
  return std::nullopt;
}

std::string without_parameters(std::string_view path) {
  std::vector<std::string> segments = split(path, '/');
  for (std::string& segment : segments) segment.resize(std::min(segment.find(';'), segment.size()));
  return join(segments, "/");
}

// Empty segments and "." go, ".." takes the one before with it; a final slash stays.
std::string resolved(std::string path) {
  std::ranges::replace(path, '\\', '/');
  std::vector<std::string> kept;
  const std::vector<std::string> segments = split(path, '/');
  for (const std::string& segment : segments) {
    if (segment.empty() || segment == ".") continue;
    if (segment != "..")
      kept.push_back(segment);
    else if (!kept.empty())
      kept.pop_back();
  }
  const std::string& last = segments.back();
  const bool folder = last.empty() || last == "." || last == "..";
  return concat("/", join(kept, "/"), folder && !kept.empty() ? "/" : "");
}

bool is_readable(std::string_view path) {
  return is_utf8(path) && std::ranges::none_of(path, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
}

}  // namespace

std::optional<std::vector<std::string>> path_spellings(std::string_view path) {
  if (path.size() > kLongestPath || path.contains('#') || (!path.empty() && path.front() != '/')) return std::nullopt;
  const std::string once = path.empty() ? "/" : decode_once(path);
  const std::optional<std::string> all = decode_all(once);
  if (!all || !is_readable(once) || !is_readable(*all)) return std::nullopt;
  std::vector<std::string> spellings = {once};
  for (const std::string& decoded : {once, *all})
    for (const std::string& plain : {decoded, without_parameters(decoded)}) spellings.push_back(resolved(plain));
  std::ranges::sort(spellings);
  const auto rest = std::ranges::unique(spellings);
  spellings.erase(rest.begin(), rest.end());
  return spellings;
}

bool path_matches(std::string_view pattern, std::string_view path) {
  size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == path;
  if (!path.starts_with(pattern.substr(0, star))) return false;
  path.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  while ((star = pattern.find('*')) != pattern.npos) {
    const size_t found = path.find(pattern.substr(0, star));
    if (found == path.npos) return false;
    path.remove_prefix(found + star);
    pattern.remove_prefix(star + 1);
  }
  return path.ends_with(pattern);
}

}  // namespace cove::net
