// Pulling an image of several layers from a registry on the loopback, beside podman.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "api_server.h"
#include "measure.h"

extern char** environ;

namespace cove::bench {
namespace {

constexpr int kRounds = 5;
constexpr int kPort = 15'731;
// Some ten thousand files, a hundred or two of megabytes: what a language's image has.
constexpr const char* kFolders[] = {"/usr/share/perl", "/usr/share/perl5", "/usr/share/doc", "/usr/include/c++", "/usr/include/linux"};

// A registry in a folder of the benchmark's own.
class Registry {
 public:
  explicit Registry(const std::string& folder) {
    std::string config = folder + "/registry.yml";
    FILE* file = std::fopen(config.c_str(), "w");
    if (!file) give_up(config);
    std::fprintf(file, "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s/registry\nhttp:\n  addr: 127.0.0.1:%d\nlog:\n  level: error\n",
                 folder.c_str(), kPort);
    std::fclose(file);
    std::string words[] = {"docker-registry", "serve", config};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    posix_spawn_file_actions_t quiet;
    ::posix_spawn_file_actions_init(&quiet);
    ::posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    if (::posix_spawnp(&pid_, argv[0], &quiet, nullptr, argv, environ) != 0) give_up("start docker-registry");
    ::posix_spawn_file_actions_destroy(&quiet);
  }
  ~Registry() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

 private:
  pid_t pid_ = -1;
};

std::string address() { return "127.0.0.1:" + std::to_string(kPort) + "/bench:1"; }

void publish(const std::string& folder) {
  std::string layout = folder + "/layout";
  spawn_and_wait({"umoci", "init", "--layout", layout});
  spawn_and_wait({"umoci", "new", "--image", layout + ":x"});
  int number = 0;
  for (const char* each : kFolders)
    if (::access(each, R_OK) == 0) spawn_and_wait({"umoci", "insert", "--image", layout + ":x", each, "/layer" + std::to_string(number++)});
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (std::system(("skopeo copy -q --dest-tls-verify=false oci:" + layout + ":x docker://" + address() + " >/dev/null 2>&1").c_str()) == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  give_up("push the image");
}

int run() {
  for (const char* program : {"docker-registry", "skopeo", "umoci", "podman"})
    if (!installed(program)) give_up(std::string(program) + " is not installed");
  Server server({"pool.size=0"});
  Registry registry(server.folder());
  publish(server.folder());
  std::string cove = folder_of_programs() + "/cove";
  ::setenv("COVE_HOST", ("unix:" + server.socket()).c_str(), 1);
  Command podman = {"podman", "--root", server.folder() + "/podman", "--runroot", server.folder() + "/podman-run"};
  auto with_podman = [&](std::vector<std::string> words) {
    Command all = podman;
    all.insert(all.end(), words.begin(), words.end());
    spawn_and_wait(all);
  };
  Samples ours("cove pull"), theirs("podman pull");
  for (int round = 0; round < kRounds; ++round) {
    ours.add(milliseconds([&] { spawn_and_wait({cove, "pull", address()}); }));
    spawn_and_wait({cove, "image", "rm", address()});
    theirs.add(milliseconds([&] { with_podman({"pull", "-q", "--tls-verify=false", address()}); }));
    with_podman({"rmi", "-f", address()});
  }
  with_podman({"system", "reset", "--force"});
  print_table({ours, theirs});
  print_ratio("pull_vs_podman", ours.median() / theirs.median());
  return 0;
}

}  // namespace
}  // namespace cove::bench

int main() { return cove::bench::run(); }
