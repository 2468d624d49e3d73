// How long `true` takes in a fresh sandbox of each runtime of this machine: one image, one server, in turn.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "api_server.h"
#include "measure.h"
#include "support/container_engine.h"

namespace cove::bench {
namespace {

using Engines = std::vector<std::unique_ptr<test::ContainerEngine>>;

constexpr const char* kNative = "native";
constexpr const char* kImage = test::ContainerEngine::kImage;
constexpr int kNativeStarts = 300;

// Engines of the benchmark's own, named to the server that will be started.
Engines start_engines() {
  constexpr std::tuple<const char*, const char*, const char*> kKinds[] = {{"podman", "podman", "CONTAINER_HOST"},
                                                                          {"docker", "dockerd", "DOCKER_HOST"}};
  // Nothing of the machine's own engines is touched; Podman takes the variable for itself, too.
  for (auto [kind, program, variable] : kKinds) ::unsetenv(variable);
  Engines engines;
  std::map<std::string, std::string> sockets;
  for (auto [kind, program, variable] : kKinds) {
    sockets[variable] = "/nonexistent/engine.sock";
    if (!installed(program)) continue;
    engines.push_back(std::make_unique<test::ContainerEngine>(kind));
    if (engines.back()->running()) sockets[variable] = engines.back()->socket();
  }
  for (const auto& [variable, socket] : sockets) ::setenv(variable.c_str(), ("unix://" + socket).c_str(), 1);
  return engines;
}

// The runtimes that can be used; says why of those that cannot.
std::vector<std::string> usable_runtimes(const Server& server) {
  std::vector<std::string> names;
  nlohmann::json machine = nlohmann::json::parse(Line(server.socket()).ask("GET", "/v1/machine").body);
  for (const auto& runtime : machine["runtimes"]) {
    std::string name = runtime["name"], version = runtime["version"], problem = runtime["problem"];
    if (runtime["available"]) names.push_back(name);
    std::printf("%s: %s\n", name.c_str(),
                runtime["available"] ? version.c_str() : ("not measured: " + problem).c_str());
  }
  return names;
}

Command command_of(const std::string& runtime) {
  return {folder_of_programs() + "/cove", "run", "--runtime", runtime, "--image", kImage, "--", "true"};
}

double start(const std::string& runtime) {
  return milliseconds([&] { spawn_and_wait(command_of(runtime), Errors::Hidden); });
}

// Native comes before each of the others, and more often: what is quick varies more.
std::vector<Samples> measure(const std::vector<std::string>& others, int rounds) {
  const int each = kNativeStarts / (rounds * static_cast<int>(others.size())) + 1;
  std::vector<Samples> rows = {Samples(kNative)};
  for (const std::string& name : others) rows.emplace_back(name);
  // Once unmeasured: caches, and warnings that need to be read once only.
  for (const Samples& row : rows) spawn_and_wait(command_of(row.name()));
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < others.size(); ++i) {
      for (int time = 0; time < each; ++time) rows[0].add(start(kNative));
      rows[i + 1].add(start(others[i]));
    }
  return rows;
}

void import_image(const std::string& folder) {
  spawn_and_wait({COVE_TEST_FOLDER "/engines/make-image", folder + "/image.tar"});
  spawn_and_wait({folder_of_programs() + "/cove", "image", "import", folder + "/image.tar", kImage});
}

int run(int rounds) {
  Engines engines = start_engines();
  Server server({"pool.size=0"});  // only native sandboxes can be kept ready: see `bench warm`
  ::setenv("COVE_HOST", ("unix:" + server.socket()).c_str(), 1);
  import_image(server.folder());
  std::vector<std::string> others = usable_runtimes(server);
  for (const std::string& name : others) std::printf("%s: %s\n", name.c_str(), text_of(command_of(name)).c_str());
  std::erase(others, kNative);
  if (others.empty()) give_up("there is no other runtime");
  std::vector<Samples> rows = measure(others, rounds);
  print_table(rows);
  for (size_t i = 1; i < rows.size(); ++i)
    print_ratio(rows[i].name() + "_vs_native", rows[i].median() / rows[0].median());
  return 0;
}

}  // namespace
}  // namespace cove::bench

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 30;
  if (::geteuid() != 0 || rounds < 1) return std::fprintf(stderr, "usage: bench_runtimes [ROUNDS], as root\n"), 1;
  return cove::bench::run(rounds);
}
