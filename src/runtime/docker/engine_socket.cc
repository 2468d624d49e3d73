#include "runtime/docker/engine_socket.h"

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "client/connection.h"

namespace cove::docker {
namespace {

constexpr std::string_view kScheme = "unix://";

// "unix:///run/docker.sock" or a path.
Result<std::string> path_of(const char* name, const std::string& value) {
  std::string path = value.starts_with(kScheme) ? value.substr(kScheme.size()) : value;
  if (path.starts_with('/')) return path;
  return fail(Error(Code::Unsupported, concat(std::string_view(name), " is ", value,
                                              ": Cove can use an engine of this machine only, at a Unix socket"))
                  .hint(concat("set it to ", kScheme, "PATH, or run Cove on the machine where the engine is")));
}

std::string remedy(const std::string& runtime) {
  if (runtime == "podman")
    return "start it with `systemctl start podman.socket` (as an ordinary user: --user), or set CONTAINER_HOST";
  return "start Docker (`systemctl start docker`) or Podman (`systemctl start podman.socket`), or set DOCKER_HOST";
}

}  // namespace

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

Result<std::vector<std::string>> engine_sockets(const std::string& runtime, const Variable& variable) {
  const bool podman = runtime == "podman";
  for (const char* name : {podman ? "CONTAINER_HOST" : "DOCKER_HOST", "DOCKER_HOST"})
    if (std::string value = variable(name); !value.empty()) return std::vector{COVE_TRY(path_of(name, value))};
  std::vector<std::string> paths;
  const std::string own = variable("XDG_RUNTIME_DIR");
  if (!podman) paths.push_back("/var/run/docker.sock");
  if (!podman && !own.empty()) paths.push_back(own + "/docker.sock");
  paths.push_back("/run/podman/podman.sock");
  if (!own.empty()) paths.push_back(own + "/podman/podman.sock");
  return paths;
}

Result<std::string> find_engine_socket(const std::string& runtime) {
  std::vector<std::string> paths = COVE_TRY(engine_sockets(runtime, variable));
  std::vector<std::string> denied;
  for (const std::string& path : paths) {
    Result<client::Connection> opened = client::Connection::open({.kind = client::Address::Kind::Unix, .path = path});
    if (opened) return path;
    if (opened.error().errnum() == EACCES) denied.push_back(path);
  }
  if (!denied.empty())
    return fail(Error(Code::Denied, concat("connect to the engine at ", denied[0], ": Permission denied"))
                    .hint("let this user into the group that owns the socket, or use a rootless engine of his own"));
  return fail(Error(Code::Unavailable, concat("no container engine listens at ", join(paths, ", "))).hint(remedy(runtime)));
}

}  // namespace cove::docker
