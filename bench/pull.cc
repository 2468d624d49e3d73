// Pulling an image of several layers from a registry on the loopback, beside podman.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "api_server.h"
#include "measure.h"
#include "registry.h"

namespace cove::bench {
namespace {

constexpr int kRounds = 5;
// Some ten thousand files, a hundred or two of megabytes: what a language's image has.
constexpr const char* kFolders[] = {"/usr/share/perl", "/usr/share/perl5", "/usr/share/doc", "/usr/include/c++",
                                    "/usr/include/linux"};

void publish(const Registry& registry, const std::string& folder) {
  std::string layout = folder + "/layout";
  spawn_and_wait({"umoci", "init", "--layout", layout});
  spawn_and_wait({"umoci", "new", "--image", layout + ":x"});
  int number = 0;
  for (const char* each : kFolders)
    if (::access(each, R_OK) == 0)
      spawn_and_wait({"umoci", "insert", "--image", layout + ":x", each, "/layer" + std::to_string(number++)});
  registry.push(layout, "x", "bench:1");
}

int run() {
  for (const char* program : {"docker-registry", "skopeo", "umoci", "podman"})
    if (!installed(program)) give_up(std::string(program) + " is not installed");
  Server server({"pool.size=0"});
  Registry registry(server.folder());
  publish(registry, server.folder());
  const std::string image = registry.address("bench:1");
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
    ours.add(milliseconds([&] { spawn_and_wait({cove, "pull", image}); }));
    spawn_and_wait({cove, "image", "rm", image});
    theirs.add(milliseconds([&] { with_podman({"pull", "-q", "--tls-verify=false", image}); }));
    with_podman({"rmi", "-f", image});
  }
  with_podman({"system", "reset", "--force"});
  print_table({ours, theirs});
  print_ratio("pull_vs_podman", ours.median() / theirs.median());
  return 0;
}

}  // namespace
}  // namespace cove::bench

int main() { return cove::bench::run(); }
