#include "runtime/docker/engine_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace cove::docker {
namespace {

using testing::HasSubstr;

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

NoEngine nowhere() { return {.paths = {"/run/podman/podman.sock"}}; }

TEST(EngineSocket, ToldApartAreEnginesThatAreNotInstalledAndThatDoNotRun) {
  NoEngine found = nowhere();
  EXPECT_EQ(describe("podman", found).message(),
            "Podman is not installed, and no engine is listening at /run/podman/podman.sock");
  EXPECT_EQ(describe("podman", found).hint(), "sudo apt install podman && systemctl --user start podman.socket");
  EXPECT_THAT(describe("docker", found).message(), HasSubstr("neither Docker nor Podman is installed"));
  found.podman_installed = found.root = true;
  EXPECT_EQ(describe("podman", found).message(), "Podman is installed, but not listening at /run/podman/podman.sock");
  EXPECT_EQ(describe("podman", found).hint(), "systemctl start podman.socket");
  found.docker_installed = true;
  EXPECT_EQ(describe("podman", found).hint(), "systemctl start podman.socket");
  EXPECT_EQ(describe("docker", found).hint(), "sudo systemctl start docker   or: systemctl start podman.socket");
}

TEST(EngineSocket, ThatIsNamedByAVariableIsLookedForNowhereElse) {
  NoEngine found = nowhere();
  found.variable = "CONTAINER_HOST";
  found.podman_installed = true;
  EXPECT_THAT(describe("podman", found).message(), HasSubstr("podman.sock, which CONTAINER_HOST names"));
  EXPECT_THAT(describe("podman", found).hint(), HasSubstr("set CONTAINER_HOST"));
}

TEST(EngineSocket, WithoutPermissionTellsWhoHasIt) {
  NoEngine found = nowhere();
  found.denied = "/var/run/docker.sock";
  found.group = "docker";
  Error error = describe("docker", found);
  EXPECT_EQ(error.code(), Code::Denied);
  EXPECT_EQ(error.message(), "connect to the engine at /var/run/docker.sock: Permission denied");
  EXPECT_THAT(error.hint(), HasSubstr("usermod -aG docker $USER"));
  found.group = "";
  EXPECT_EQ(describe("docker", found).hint(), "use an engine of your own: systemctl --user start podman.socket");
}

}  // namespace
}  // namespace cove::docker
