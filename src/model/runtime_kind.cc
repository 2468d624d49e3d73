#include "model/runtime_kind.h"

#include <algorithm>

#include "base/text.h"

namespace cove {
namespace {

constexpr RuntimeKind kKinds[] = {
    {kNativeRuntime, RuntimeFamily::Native, nullptr, "Cove's own walls"},
    {"runc", RuntimeFamily::Oci, "runc", "the reference OCI runtime"},
    {"crun", RuntimeFamily::Oci, "crun", "an OCI runtime in C"},
    {"runsc", RuntimeFamily::Oci, "runsc", "gVisor: a kernel of its own, in user space"},
    {"docker", RuntimeFamily::Engine, nullptr, "containers of a Docker or Podman engine"},
    {"podman", RuntimeFamily::Engine, nullptr, "containers of a Podman engine"},
};

}  // namespace

std::span<const RuntimeKind> runtime_kinds() { return kKinds; }

const RuntimeKind* find_runtime_kind(std::string_view name) {
  auto found = std::ranges::find_if(kKinds, [&](const RuntimeKind& kind) { return kind.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

bool is_engine_runtime(std::string_view name) {
  const RuntimeKind* kind = find_runtime_kind(name);
  return kind && kind->family == RuntimeFamily::Engine;
}

bool has_own_kernel(std::string_view name) { return name == "runsc"; }

std::vector<std::string> runtime_names() {
  std::vector<std::string> names;
  for (const RuntimeKind& kind : kKinds) names.push_back(kind.name);
  names.push_back(kAnyOciRuntime);
  return names;
}

Result<std::string> check_runtime(const std::string& name) {
  std::vector<std::string> names = runtime_names();
  if (std::ranges::find(names, name) != names.end()) return name;
  std::string near = closest(name, names);
  return fail(
      Error(Code::Invalid, concat("there is no runtime '", name, "'"))
          .hint(near.empty() ? concat("it is one of: ", join(names, ", ")) : concat("did you mean ", near, "?")));
}

}  // namespace cove
