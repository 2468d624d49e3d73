#include "cli/git_author.h"

#include <unistd.h>

#include "base/encoding.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/program.h"

namespace cove::cli {
namespace {

constexpr const char* kGit[] = {"/usr/bin/git", "/usr/local/bin/git", "/bin/git"};

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each; ++each) variables.emplace_back(*each);
  return variables;
}

}  // namespace

GitAuthor git_author(const std::string& folder) {
  GitAuthor author;
  for (const char* git : kGit) {
    if (!sys::exists(git)) continue;
    // `git config` only reads files and runs no other program.
    auto found = sys::output_of(
        {.argv = {git, "-C", folder, "config", "--global", "--includes", "-z", "--get-regexp", "^user\\.(name|email)$"},
         .env = own_environment()});
    for (const std::string& entry : split(found.value_or(""), '\0')) {
      size_t end = entry.find('\n');
      if (end == std::string::npos) continue;
      std::string value = entry.substr(end + 1);
      if (!is_utf8(value) || !fits_git_author(value)) continue;
      (entry.starts_with("user.name") ? author.name : author.email) = std::move(value);
    }
    break;
  }
  return author;
}

}  // namespace cove::cli
