#include "model/sandbox.h"

#include <algorithm>
#include <iterator>

namespace cove {
namespace {

constexpr const char* kAccessNames[] = {"none", "ro", "rw", "review"};  // in the order of Access

}  // namespace

const char* access_name(Access access) { return kAccessNames[static_cast<size_t>(access)]; }

std::optional<Access> access_of(std::string_view name) {
  auto found = std::find(std::begin(kAccessNames), std::end(kAccessNames), name);
  if (found == std::end(kAccessNames)) return std::nullopt;
  return static_cast<Access>(found - std::begin(kAccessNames));
}

Result<std::vector<std::string>> command_of(const ImageDefaults& defaults,
                                            const std::optional<std::vector<std::string>>& entrypoint,
                                            const std::vector<std::string>& words) {
  std::vector<std::string> command = entrypoint.value_or(defaults.entrypoint);
  // Another entrypoint has no use for the image's arguments.
  if (!words.empty() || !entrypoint) {
    const std::vector<std::string>& rest = words.empty() ? defaults.cmd : words;
    command.insert(command.end(), rest.begin(), rest.end());
  }
  if (!command.empty() && !command[0].empty()) return command;
  return fail(Error(Code::Invalid, "no command to run, and the image has none")
                  .hint("write it after the options: cove run -- COMMAND…"));
}

bool fits_git_author(std::string_view text) {
  constexpr size_t kLongest = 256;
  auto control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; };
  return text.size() <= kLongest && std::ranges::none_of(text, control);
}

}  // namespace cove
