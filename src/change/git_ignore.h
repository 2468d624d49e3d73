#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

// The ignore rules of a repository, from .gitignore files and info/exclude.
namespace cove::change {

// Like git's wildmatch with WM_PATHNAME: '*' and '?' do not match '/', "**" between slashes matches any folders.
// A pattern that would take too long matches nothing.
bool matches_path(std::string_view pattern, std::string_view path);

class IgnoreRules {
 public:
  // The content of a .gitignore in `folder` (of the repository, "" at its top).
  void add(const std::string& folder, std::string_view content);
  // The content of info/exclude, which .gitignore files override.
  void add_exclude(std::string_view content);

  // For paths in the repository. Everything below an ignored folder is ignored, too.
  bool ignores_file(const std::string& path) const;
  bool ignores_folder(const std::string& path) const;

 private:
  struct Pattern {
    std::string text;
    bool negated = false;
    bool folders_only = false;
    bool anchored = false;  // compared with the path, not with the name
  };
  using Patterns = std::vector<Pattern>;
  enum class Answer { Ignored, Included, Unsaid };

  static Patterns parse(std::string_view content);
  static Answer ask(const Patterns& patterns, std::string_view path, bool folder);
  bool ignores(const std::string& path, bool folder) const;

  std::map<std::string, Patterns> by_folder_;
  Patterns exclude_;
  mutable std::map<std::string, bool> folders_;  // cached results
};

}  // namespace cove::change
