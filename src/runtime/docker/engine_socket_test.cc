#include "runtime/docker/engine_socket.h"

#include <gtest/gtest.h>

#include <map>

namespace cove::docker {
namespace {

Result<std::vector<std::string>> sockets(const std::string& runtime, std::map<std::string, std::string> variables) {
  return engine_sockets(runtime, [&](const char* name) { return variables[name]; });
}

TEST(EngineSocket, IsLookedForAtTheUsualPlaces) {
  EXPECT_EQ(*sockets("docker", {{"XDG_RUNTIME_DIR", "/run/user/7"}}),
            (std::vector<std::string>{"/var/run/docker.sock", "/run/user/7/docker.sock", "/run/podman/podman.sock",
                                      "/run/user/7/podman/podman.sock"}));
  EXPECT_EQ(*sockets("podman", {}), std::vector<std::string>{"/run/podman/podman.sock"});
}

TEST(EngineSocket, IsTheOneThatTheEnvironmentNames) {
  EXPECT_EQ(*sockets("docker", {{"DOCKER_HOST", "unix:///tmp/d.sock"}}), std::vector<std::string>{"/tmp/d.sock"});
  EXPECT_EQ(*sockets("podman", {{"DOCKER_HOST", "unix:///tmp/d.sock"}, {"CONTAINER_HOST", "unix:///tmp/p.sock"}}),
            std::vector<std::string>{"/tmp/p.sock"});
  EXPECT_EQ(*sockets("docker", {{"DOCKER_HOST", "/tmp/d.sock"}, {"CONTAINER_HOST", "unix:///tmp/p.sock"}}),
            std::vector<std::string>{"/tmp/d.sock"});
}

TEST(EngineSocket, MustBeOfThisMachine) {
  for (const char* elsewhere : {"tcp://10.0.0.1:2375", "ssh://me@there", "npipe:////./pipe/docker"}) {
    Result<std::vector<std::string>> found = sockets("docker", {{"DOCKER_HOST", elsewhere}});
    ASSERT_FALSE(found) << elsewhere;
    EXPECT_EQ(found.error().code(), Code::Unsupported);
    EXPECT_NE(found.error().message().find(elsewhere), std::string::npos);
  }
}

}  // namespace
}  // namespace cove::docker
