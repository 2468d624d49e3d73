#include "runtime/docker/engine_socket.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "client/connection.h"
#include "sys/file.h"
#include "sys/probe.h"

namespace cove::docker {
namespace {

constexpr std::string_view kScheme = "unix://";

// "unix:///run/docker.sock" or a path.
Result<std::string> path_of(const std::string& name, const std::string& value) {
  std::string path = value.starts_with(kScheme) ? value.substr(kScheme.size()) : value;
  if (path.starts_with('/')) return path;
  return fail(Error(Code::Unsupported,
                    concat(name, " is ", value, ": Cove can only use an engine on this machine, over a Unix socket"))
                  .hint(concat("set it to ", kScheme, "PATH, or run Cove on the engine's machine")));
}

const char* podman_start(bool root) {
  return root ? "systemctl start podman.socket" : "systemctl --user start podman.socket";
}

std::string ways_in(const NoEngine& found) {
  std::string own = concat("use an engine of your own: ", std::string_view(podman_start(false)));
  if (found.group.empty()) return own;
  return concat("sudo usermod -aG ", found.group,
                " $USER, and log in again (members of that group can become root); or ", own);
}

std::string ways_to_start(const std::string& runtime, const NoEngine& found) {
  std::vector<std::string> ways;
  if (runtime != "podman" && found.docker_installed) ways.push_back("sudo systemctl start docker");
  if (found.podman_installed) ways.push_back(podman_start(found.root));
  if (ways.empty()) ways.push_back(concat("sudo apt install podman && ", std::string_view(podman_start(found.root))));
  return join(ways, "   or: ");
}

std::string what_is_installed(const std::string& runtime, const NoEngine& found) {
  const bool docker = runtime != "podman" && found.docker_installed;
  if (docker && found.podman_installed) return "Docker and Podman are installed, but neither is listening";
  if (docker || found.podman_installed)
    return concat(std::string_view(docker ? "Docker" : "Podman"), " is installed, but not listening");
  return concat(
      std::string_view(runtime == "podman" ? "Podman is not installed" : "neither Docker nor Podman is installed"),
      ", and no engine is listening");
}

// The variable that takes effect, of the two.
std::string naming_variable(const std::string& runtime, const Variable& variable) {
  for (const char* name : {runtime == "podman" ? "CONTAINER_HOST" : "DOCKER_HOST", "DOCKER_HOST"})
    if (!variable(name).empty()) return name;
  return {};
}

// The group whose members may connect to a socket; empty if only root may.
std::string group_of(const std::string& path) {
  Result<struct stat> info = sys::stat(path);
  if (!info || info->st_gid == 0 || (info->st_mode & S_IWGRP) == 0) return {};
  for (const std::string& line : split(sys::read_file("/etc/group", 1 << 20).value_or(""), '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == std::to_string(info->st_gid)) return fields[0];
  }
  return {};
}

}  // namespace

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

Result<std::vector<std::string>> engine_sockets(const std::string& runtime, const Variable& variable) {
  const bool podman = runtime == "podman";
  if (std::string name = naming_variable(runtime, variable); !name.empty())
    return std::vector{COVE_TRY(path_of(name, variable(name.c_str())))};
  std::vector<std::string> paths;
  const std::string own = variable("XDG_RUNTIME_DIR");
  if (!podman) paths.push_back("/var/run/docker.sock");
  if (!podman && !own.empty()) paths.push_back(own + "/docker.sock");
  paths.push_back("/run/podman/podman.sock");
  if (!own.empty()) paths.push_back(own + "/podman/podman.sock");
  return paths;
}

Error describe(const std::string& runtime, const NoEngine& found) {
  if (!found.denied.empty())
    return Error(Code::Denied, concat("connect to the engine at ", found.denied, ": Permission denied"))
        .hint(ways_in(found));
  if (!found.variable.empty())
    return Error(Code::Unavailable,
                 concat("no engine is listening at ", join(found.paths, ", "), ", which ", found.variable, " names"))
        .hint(concat("start that engine, or set ", found.variable, " to the socket of another one, or unset it"));
  return Error(Code::Unavailable, concat(what_is_installed(runtime, found), " at ", join(found.paths, " or ")))
      .hint(ways_to_start(runtime, found));
}

Result<std::string> find_engine_socket(const std::string& runtime) {
  NoEngine found{.paths = COVE_TRY(engine_sockets(runtime, variable)), .variable = naming_variable(runtime, variable)};
  for (const std::string& path : found.paths) {
    Result<client::Connection> opened = client::Connection::open({.kind = client::Address::Kind::Unix, .path = path});
    if (opened) return path;
    if (opened.error().errnum() == EACCES && found.denied.empty()) found.denied = path;
  }
  found.group = found.denied.empty() ? "" : group_of(found.denied);
  found.docker_installed = !sys::find_program("dockerd").empty();
  found.podman_installed = !sys::find_program("podman").empty();
  found.root = ::geteuid() == 0;
  return fail(describe(runtime, found));
}

}  // namespace cove::docker
