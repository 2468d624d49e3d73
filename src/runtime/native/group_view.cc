#include "runtime/native/group_view.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "sys/cgroup_v1_group.h"
#include "sys/mount.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

constexpr std::string_view kWord = "groups";
constexpr sys::Subsystem kShown[] = {sys::kCpu, sys::kCpuacct, sys::kCpuset, sys::kMemory, sys::kPids};

// The name of the hierarchy, such as "cpu,cpuacct" if controllers share it; empty for those without readable limits.
std::string name_of(unsigned subsystems) {
  std::vector<std::string> names;
  for (const sys::SubsystemRow& row : sys::kSubsystems)
    if (subsystems & (1u << row.subsystem) && std::ranges::find(kShown, row.subsystem) != std::end(kShown))
      names.push_back(row.name);
  return join(names, ",");
}

}  // namespace

std::vector<GroupView> open_group_views(const sys::Cgroup& group) {
  std::vector<GroupView> views;
  if (::geteuid() != 0) return views;
  const sys::Cgroup::Parts parts = group.parts();
  for (size_t i = 0; i < parts.folders.size(); ++i) {
    std::string name = parts.version == 1 ? name_of(parts.kinds[i]) : std::string();
    if (parts.version == 1 && name.empty()) continue;
    Result<UniqueFd> tree = sys::open_tree_clone(parts.folders[i], "", sys::Subtree::One);
    if (tree) views.push_back({std::move(name), std::move(*tree)});
  }
  return views;
}

Result<void> send_group_views(int socket, const std::vector<GroupView>& views) {
  std::string text(kWord);
  std::vector<int> trees;
  for (const GroupView& view : views) {
    text += concat("\n", view.name);
    trees.push_back(view.tree.get());
  }
  return sys::send_message(socket, text, trees);
}

Result<std::vector<GroupView>> receive_group_views(int socket) {
  constexpr size_t kMost = 1024;
  sys::Message message = COVE_TRY(sys::receive_message(socket, kMost));
  std::vector<std::string> names = split(message.data, '\n');
  if (names.empty() || names[0] != kWord || names.size() != message.fds.size() + 1)
    return fail(Code::Unavailable, "the control group was not created");
  std::vector<GroupView> views;
  for (size_t i = 1; i < names.size(); ++i) views.push_back({names[i], std::move(message.fds[i - 1])});
  return views;
}

}  // namespace cove::native
