#include "change/git_ignore.h"

#include <cctype>
#include <optional>

#include "base/text.h"

namespace cove::change {
namespace {

// The limit for one match; "a*a*a*a*b" could take forever.
constexpr int kMostSteps = 20'000;

bool in_class(std::string_view name, unsigned char c) {
  struct Class {
    std::string_view name;
    int (*test)(int);
  };
  constexpr Class kClasses[] = {{"alnum", ::isalnum}, {"alpha", ::isalpha}, {"blank", ::isblank},
                                {"cntrl", ::iscntrl}, {"digit", ::isdigit}, {"graph", ::isgraph},
                                {"lower", ::islower}, {"print", ::isprint}, {"punct", ::ispunct},
                                {"space", ::isspace}, {"upper", ::isupper}, {"xdigit", ::isxdigit}};
  for (const Class& candidate : kClasses)
    if (candidate.name == name) return c < 128 && candidate.test(c) != 0;
  return false;
}

class Matcher {
 public:
  Matcher(std::string_view pattern, std::string_view path) : pattern_(pattern), path_(path) {}
  bool run() { return match(0, 0); }

 private:
  bool match(size_t p, size_t t) {
    while (p < pattern_.size()) {
      if (++steps_ > kMostSteps) return false;
      if (pattern_[p] == '*') return match_star(p, t);
      if (t == path_.size()) return false;
      if (pattern_[p] == '[') {
        std::optional<size_t> end = match_bracket(p, static_cast<unsigned char>(path_[t]));
        if (!end || path_[t] == '/') return false;
        p = *end;
      } else if (pattern_[p] == '?') {
        if (path_[t] == '/') return false;
        ++p;
      } else {
        if (pattern_[p] == '\\' && ++p == pattern_.size()) return false;
        if (pattern_[p++] != path_[t]) return false;
      }
      ++t;
    }
    return t == path_.size();
  }

  bool match_star(size_t p, size_t t) {
    size_t end = p;
    while (end < pattern_.size() && pattern_[end] == '*') ++end;
    bool opens = p == 0 || pattern_[p - 1] == '/';
    bool closes = end == pattern_.size() || pattern_[end] == '/';
    if (end - p >= 2 && opens && closes) return match_folders(end, t);
    for (size_t next = t;; ++next) {
      if (match(end, next)) return true;
      if (steps_ > kMostSteps || next == path_.size() || path_[next] == '/') return false;
    }
  }

  // "**/" matches zero or more folders; "**" at the end matches the rest.
  bool match_folders(size_t end, size_t t) {
    if (end == pattern_.size()) return true;
    for (size_t next = t;;) {
      if (match(end + 1, next)) return true;
      if (steps_ > kMostSteps) return false;
      next = path_.find('/', next);
      if (next == path_.npos) return false;
      ++next;
    }
  }

  // The end of the bracket expression, if it contains the character.
  std::optional<size_t> match_bracket(size_t p, unsigned char c) const {
    size_t at = p + 1;
    bool negated = at < pattern_.size() && (pattern_[at] == '!' || pattern_[at] == '^');
    if (negated) ++at;
    bool found = false;
    for (bool first = true;; first = false) {
      if (at >= pattern_.size()) return std::nullopt;
      if (pattern_[at] == ']' && !first) break;
      if (pattern_.substr(at).starts_with("[:")) {
        size_t close = pattern_.find(":]", at + 2);
        if (close == pattern_.npos) return std::nullopt;
        found = found || in_class(pattern_.substr(at + 2, close - at - 2), c);
        at = close + 2;
        continue;
      }
      std::optional<unsigned char> low = literal(at);
      if (!low) return std::nullopt;
      std::optional<unsigned char> high = low;
      if (at + 1 < pattern_.size() && pattern_[at] == '-' && pattern_[at + 1] != ']') high = literal(++at);
      if (!high) return std::nullopt;
      found = found || (*low <= c && c <= *high);
    }
    if (found == negated) return std::nullopt;
    return at + 1;
  }

  // Reads one character of a bracket expression, which may be escaped.
  std::optional<unsigned char> literal(size_t& at) const {
    if (pattern_[at] == '\\') ++at;
    if (at >= pattern_.size()) return std::nullopt;
    return static_cast<unsigned char>(pattern_[at++]);
  }

  std::string_view pattern_;
  std::string_view path_;
  int steps_ = 0;
};

// Trailing spaces are ignored unless escaped.
std::string_view without_blanks(std::string_view line) {
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  return line;
}

std::string parent_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

std::string_view below(std::string_view path, std::string_view folder) {
  return folder.empty() ? path : path.substr(folder.size() + 1);
}

}  // namespace

bool matches_path(std::string_view pattern, std::string_view path) { return Matcher(pattern, path).run(); }

IgnoreRules::Patterns IgnoreRules::parse(std::string_view content) {
  Patterns patterns;
  if (content.starts_with("\xef\xbb\xbf")) content.remove_prefix(3);
  for (const std::string& raw : split(content, '\n')) {
    std::string_view line = raw;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = without_blanks(line);
    if (line.empty() || line[0] == '#') continue;
    Pattern pattern;
    if (line[0] == '!') pattern.negated = true, line.remove_prefix(1);
    if (line.ends_with('/')) pattern.folders_only = true, line.remove_suffix(1);
    pattern.anchored = line.find('/') != line.npos;
    if (line.starts_with('/')) line.remove_prefix(1);
    if (line.empty()) continue;
    pattern.text = line;
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

void IgnoreRules::add(const std::string& folder, std::string_view content) { by_folder_[folder] = parse(content); }

void IgnoreRules::add_exclude(std::string_view content) { exclude_ = parse(content); }

// The last matching pattern decides.
IgnoreRules::Answer IgnoreRules::ask(const Patterns& patterns, std::string_view path, bool folder) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (auto pattern = patterns.rbegin(); pattern != patterns.rend(); ++pattern) {
    if (pattern->folders_only && !folder) continue;
    if (matches_path(pattern->text, pattern->anchored ? path : name))
      return pattern->negated ? Answer::Included : Answer::Ignored;
  }
  return Answer::Unsaid;
}

// The nearest .gitignore with a matching pattern decides.
bool IgnoreRules::ignores(const std::string& path, bool folder) const {
  std::string around = parent_of(path);
  if (!around.empty() && ignores_folder(around)) return true;
  while (true) {
    auto patterns = by_folder_.find(around);
    Answer answer = patterns == by_folder_.end() ? Answer::Unsaid : ask(patterns->second, below(path, around), folder);
    if (answer != Answer::Unsaid) return answer == Answer::Ignored;
    if (around.empty()) return ask(exclude_, path, folder) == Answer::Ignored;
    around = parent_of(around);
  }
}

bool IgnoreRules::ignores_file(const std::string& path) const { return ignores(path, false); }

bool IgnoreRules::ignores_folder(const std::string& path) const {
  auto known = folders_.find(path);
  if (known != folders_.end()) return known->second;
  return folders_[path] = ignores(path, true);
}

}  // namespace cove::change
