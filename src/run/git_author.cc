#include "run/git_author.h"

#include <fcntl.h>

#include "base/text.h"
#include "runtime/view.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr const char* kSystemConfig = "/etc/gitconfig";

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string git_config_of(const GitAuthor& author) {
  if (author == GitAuthor{}) return "";
  std::string text = "[user]\n";
  if (!author.name.empty()) text += concat("\tname = ", quoted(author.name), "\n");
  if (!author.email.empty()) text += concat("\temail = ", quoted(author.email), "\n");
  return text;
}

Result<void> write_git_author(Sandbox& sandbox, const SandboxSpec& spec) {
  const std::string text = git_config_of(spec.workspace.author);
  if (text.empty()) return {};
  COVE_TRY(sandbox.ready());
  std::unique_ptr<View> view = COVE_TRY(sandbox.open_view("root"));
  UniqueFd file =
      COVE_TRY_NOTE("write the author of commits", view->open(kSystemConfig, O_WRONLY | O_CREAT | O_APPEND, 0644));
  return sys::write_all(file.get(), text);
}

}  // namespace cove
