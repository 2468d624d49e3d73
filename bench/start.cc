// How long it takes from nothing to the end of `true` in a sandbox with all walls up, beside others who build
// sandboxes.
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/id.h"
#include "measure.h"
#include "run/environment.h"
#include "runtime/native/native_runtime.h"
#include "support/child.h"

namespace cove::bench {
namespace {

[[noreturn]] void give_up(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (!result) give_up(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

const Command kBwrap = {"bwrap", "--unshare-all", "--ro-bind", "/",       "/",    "--proc",
                        "/proc", "--dev",         "/dev",      "--tmpfs", "/tmp", "true"};

Command cove_command() { return {folder_of_programs() + "/cove", "run", "--direct", "--", "true"}; }

SandboxSpec new_spec() {
  SandboxSpec spec;
  spec.id = make_id();
  spec.env = safe_environment();
  return spec;
}

ExecSpec new_exec() {
  ExecSpec exec;
  exec.id = make_id();
  exec.argv = {"true"};
  return exec;
}

void wait_for_end(Sandbox& sandbox) {
  while (true) {
    pollfd polled = {sandbox.events_fd(), POLLIN, 0};
    ::poll(&polled, 1, -1);
    std::optional<Event> event = must(sandbox.next_event());
    if (!event) continue;
    if (std::holds_alternative<ExecEnded>(*event)) return;
    std::fprintf(stderr, "the sandbox did not run `true`\n");
    std::exit(1);
  }
}

// A bundle for runc that runs `true` of this machine's own userland, read-only.
std::string make_runc_bundle() {
  std::string bundle = "/tmp/cove-bench-runc";
  std::filesystem::remove_all(bundle);
  std::filesystem::create_directories(bundle + "/rootfs");
  spawn_and_wait({"sh", "-c", "cd " + bundle + " && runc spec"});
  nlohmann::json config = nlohmann::json::parse(std::ifstream(bundle + "/config.json"));
  config["process"]["terminal"] = false;
  config["process"]["args"] = {"true"};
  for (const char* folder : {"/usr", "/bin", "/lib", "/lib64"}) {
    if (std::filesystem::is_symlink(folder))
      std::filesystem::copy_symlink(folder, bundle + "/rootfs" + folder);
    else if (std::filesystem::exists(folder))
      config["mounts"].push_back(
          {{"destination", folder}, {"type", "bind"}, {"source", folder}, {"options", {"rbind", "ro"}}});
  }
  std::ofstream(bundle + "/config.json") << config;
  return bundle;
}

struct Peer {
  std::string program;
  Command command;
};

std::vector<Peer> slow_peers() {
  std::vector<Peer> peers;
  if (installed("runc")) peers.push_back({"runc", {"runc", "run", "--bundle", make_runc_bundle(), "cove-bench"}});
  if (installed("firejail"))
    peers.push_back({"firejail", {"firejail", "--quiet", "--noprofile", "--net=none", "--private", "true"}});
  if (installed("runsc"))
    peers.push_back({"runsc", {"runsc", "--platform=ptrace", "--network=none", "--ignore-cgroups", "do", "true"}});
  return peers;
}

// Cold: one process from nothing to nothing, and the runtime call alone.
void bench_cold(Runtime& runtime, int rounds) {
  std::unique_ptr<Sandbox> last;
  Contender in_process{"runtime: create + exec, until the result", [&] {
                         SandboxSpec spec = new_spec();
                         spec.single_exec = spec.ends_with_exec = true;
                         last = must(runtime.create(spec));
                         must(last->exec(new_exec()));
                         wait_for_end(*last);
                       }};
  Samples whole("cove run --direct");
  Samples call(in_process.name);
  Samples teardown("runtime: destroy");
  Samples bwrap("bwrap");
  in_process.work();
  must(last->destroy(Files::Remove));
  const std::function<void()> turns[] = {
      [&] { whole.add(milliseconds([] { spawn_and_wait(cove_command()); })); },
      [&] { bwrap.add(milliseconds([] { spawn_and_wait(kBwrap); })); },
      [&] {
        call.add(milliseconds(in_process.work));
        teardown.add(milliseconds([&] { must(last->destroy(Files::Remove)); }));
      },
  };
  // Each one follows each other one equally often: what the last one left to the kernel slows the next one down.
  constexpr int kOrders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int round = 0; round < rounds; ++round)
    for (int turn : kOrders[round % 6]) turns[turn]();
  std::vector<Samples> rows = {whole, bwrap, call, teardown};
  for (const Peer& peer : slow_peers())
    rows.push_back(alternate({{peer.program, [&] { spawn_and_wait(peer.command); }}}, std::min(rounds, 50))[0]);
  print_table(rows);
  print_ratio("cold_start_vs_bwrap", whole.median() / bwrap.median());
  print_ratio("cold_runtime_vs_bwrap", call.median() / bwrap.median());
}

// Many in a row, until nothing of any of them is left.
void bench_churn(int count) {
  test::Traces before = test::find_traces();
  auto series = [&](const Command& command) {
    return milliseconds([&] {
      for (int i = 0; i < count; ++i) spawn_and_wait(command);
      if (test::wait_for_traces(before) != before) std::printf("churn: something is left behind\n");
    });
  };
  double ours = 0;
  double theirs = 0;
  // In portions, so that noise hits both alike.
  constexpr int kPortions = 10;
  count /= kPortions;
  for (int i = 0; i < kPortions; ++i) ours += series(cove_command()), theirs += series(kBwrap);
  std::printf("churn: %d in a row: cove %.0f ms, bwrap %.0f ms\n", count * kPortions, ours, theirs);
  print_ratio("churn_vs_bwrap", ours / theirs);
}

void bench_burst(const Command& command, const char* name, int count) {
  Samples each(name);
  std::vector<double> times(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  double all = milliseconds([&] {
    for (double& time : times) threads.emplace_back([&] { time = milliseconds([&] { spawn_and_wait(command); }); });
    for (std::thread& thread : threads) thread.join();
  });
  for (double time : times) each.add(time);
  std::printf("burst of %d, %s: %.0f ms in all, each p50 %.1f p90 %.1f p99 %.1f\n", count, name, all, each.median(),
              each.percentile(0.9), each.percentile(0.99));
}

// An exec in a sandbox that runs, beside a plain process.
void bench_exec(Runtime& runtime, int rounds) {
  std::unique_ptr<Sandbox> sandbox = must(runtime.create(new_spec()));
  must(sandbox->ready());
  std::vector<Samples> rows = alternate({{"exec true in a running sandbox",
                                          [&] {
                                            must(sandbox->exec(new_exec()));
                                            wait_for_end(*sandbox);
                                          }},
                                         {"posix_spawn true", [] { spawn_and_wait({"true"}); }}},
                                        rounds);
  must(sandbox->destroy(Files::Remove));
  print_table(rows);
  print_ratio("exec_vs_spawn", rows[0].median() / rows[1].median());
}

double available_mib() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) return std::stod(line.substr(13)) / 1024;
  return 0;
}

// What idle sandboxes cost, kernel included.
void bench_idle(Runtime& runtime, int count) {
  std::vector<std::unique_ptr<Sandbox>> sandboxes;
  double before = available_mib();
  for (int i = 0; i < count; ++i) {
    sandboxes.push_back(must(runtime.create(new_spec())));
    must(sandboxes.back()->ready());
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  double each = (before - available_mib()) / count;
  std::printf("%d idle sandboxes: %.2f MiB of MemAvailable each\n", count, each);
  for (auto& sandbox : sandboxes) must(sandbox->destroy(Files::Remove));
}

}  // namespace
}  // namespace cove::bench

// bench_start [ROUNDS [PART]]: cold, exec, churn, burst or idle alone.
int main(int argc, char** argv) {
  using namespace cove;
  using namespace cove::bench;
  int rounds = argc > 1 ? std::atoi(argv[1]) : 500;
  auto wanted = [part = std::string(argc > 2 ? argv[2] : "")](const char* name) {
    return part.empty() || part == name;
  };
  if (!installed("bwrap") || ::geteuid() != 0) return std::fprintf(stderr, "this benchmark needs root and bwrap\n"), 1;
  std::printf("cove: %s\npeer: %s\n", text_of(cove_command()).c_str(), text_of(kBwrap).c_str());
  for (const Peer& peer : slow_peers()) std::printf("peer: %s\n", text_of(peer.command).c_str());
  std::unique_ptr<Runtime> runtime = must(native::make_native_runtime(must(native::find_places())));
  if (wanted("cold")) bench_cold(*runtime, rounds);
  if (wanted("exec")) bench_exec(*runtime, rounds);
  if (wanted("churn")) bench_churn(rounds >= 300 ? 1000 : rounds);
  if (wanted("burst")) bench_burst(cove_command(), "cove run --direct", 100);
  if (wanted("burst")) bench_burst(kBwrap, "bwrap", 100);
  if (wanted("idle")) bench_idle(*runtime, 200);
}
