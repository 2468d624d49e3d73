// `cove doctor`: what it tells of the runtimes, to whom.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/unique_fd.h"
#include "support/person.h"

namespace cove::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A socket at which somebody listens who never answers.
class DeafSocket {
 public:
  DeafSocket(const std::string& path, mode_t mode) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    ::unlink(path.c_str());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
    ::chmod(path.c_str(), mode);
  }

 private:
  UniqueFd socket_;
};

class Doctor : public ForEverybody {
 protected:
  Outcome doctor(std::vector<std::string> words, const std::vector<std::string>& env = {}) const {
    ChildOptions options = GetParam().options;
    options.env.insert(options.env.end(), {"DOCKER_HOST=", "CONTAINER_HOST="});
    options.env.insert(options.env.end(), env.begin(), env.end());
    words.insert(words.begin(), "doctor");
    return test::cove(std::move(words), options);
  }
  json runtime(const std::string& name, const std::vector<std::string>& env = {}) const {
    Outcome told = doctor({"--json"}, env);
    json report = json::parse(told.out, nullptr, false);
    for (const json& each : report["runtimes"])
      if (each.value("name", "") == name) return each;
    ADD_FAILURE() << told.out << told.err;
    return {};
  }
};

TEST_P(Doctor, SaysOfEachRuntimeWhyItCannotBeUsedAndWhatToDo) {
  json report = json::parse(doctor({"--json"}).out);
  for (const json& each : report["runtimes"]) {
    EXPECT_FALSE(each.value("title", "").empty()) << each;
    EXPECT_TRUE(each["available"].get<bool>() || !each.value("problem", "").empty()) << each;
    EXPECT_EQ(each.value("problem", "").empty(), each.value("remedy", "").empty()) << each;
    EXPECT_TRUE(!each["available"].get<bool>() || !each.value("version", "").empty()) << each;
  }
}

TEST_P(Doctor, TellsAnOrdinaryUserWhatIsRootsAlone) {
  json crun = runtime("crun");
  if (crun.value("program", "").empty()) GTEST_SKIP() << "this test needs crun";
  EXPECT_EQ(crun["available"].get<bool>(), !rootless());
  EXPECT_FALSE(crun.value("version", "").empty()) << crun;
  EXPECT_THAT(crun.value("problem", ""), rootless() ? HasSubstr("only by root") : HasSubstr(""));
}

TEST_P(Doctor, NamesTheVariableThatNamesNoEngine) {
  json docker = runtime("docker", {"DOCKER_HOST=unix:///nonexistent/engine.sock"});
  EXPECT_FALSE(docker["available"].get<bool>());
  EXPECT_THAT(docker.value("problem", ""), HasSubstr("/nonexistent/engine.sock, which DOCKER_HOST names"));
}

TEST_P(Doctor, NamesTheGroupThatMayUseASocket) {
  if (!is_root() || !rootless())
    GTEST_SKIP() << "root may connect to every socket, and only root can make one of another group";
  std::string path = folder() + "/engine.sock";
  DeafSocket socket(path, 0660);
  constexpr gid_t kDisk = 6;  // a group of its own on every distribution
  ASSERT_EQ(::chown(path.c_str(), 0, kDisk), 0);
  json docker = runtime("docker", {"DOCKER_HOST=unix://" + path});
  EXPECT_EQ(docker.value("problem", ""), "connect to the engine at " + path + ": Permission denied");
  EXPECT_THAT(docker.value("remedy", ""), HasSubstr("sudo usermod -aG disk $USER"));
}

TEST_P(Doctor, DoesNotWaitForeverForAnEngineThatDoesNotAnswer) {
  std::string path = folder() + "/engine.sock";
  DeafSocket socket(path, 0666);
  json docker = runtime("docker", {"DOCKER_HOST=unix://" + path, "CONTAINER_HOST=unix:///nonexistent/engine.sock"});
  EXPECT_FALSE(docker["available"].get<bool>());
  EXPECT_THAT(docker.value("problem", ""), HasSubstr(path));
  EXPECT_FALSE(docker.value("remedy", "").empty());
}

TEST_P(Doctor, ShowsWhatEachRuntimeIs) {
  std::string text = doctor({}, {"DOCKER_HOST=unix:///nonexistent/engine.sock"}).out;
  EXPECT_THAT(text, HasSubstr("containers of a Docker or Podman engine\n"));
  EXPECT_THAT(text, HasSubstr("fix: start that engine"));
}

COVE_FOR_EVERYBODY(Doctor);

}  // namespace
}  // namespace cove::test
