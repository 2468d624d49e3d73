// Sandboxes that are kept ready, and interpreters that wait in them, over the API and on the command line, beside
// bubblewrap, the host's own python3, and the least that the kernel asks for a sandbox.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "api_server.h"
#include "floor.h"
#include "layer/make.h"
#include "measure.h"
#include "registry.h"

namespace cove::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Command kBwrap = {"bwrap", "--unshare-all", "--ro-bind", "/",       "/",    "--proc",
                        "/proc", "--dev",         "/dev",      "--tmpfs", "/tmp", "true"};
const Command kPython = {"/usr/bin/python3", "-c", "pass"};  // the one that sandboxes see
constexpr milliseconds kPeriod(50);                          // 20 a second
constexpr seconds kOpenLoop(30);
constexpr seconds kSaturated(20);
constexpr int kTurns = 5;
constexpr int kClients = 2;
constexpr int kBurst = 100;
constexpr int kRounds = 300;

void run_true(Line& line) {
  std::string id = line.create();
  line.exec_true(id);
  line.remove(id);
}

void pass_in(Line& line, const std::string& id) { line.exec(id, R"({"language":"python","code":"pass"})"); }

void run_python(Line& line) {
  std::string id = line.create();
  pass_in(line, id);
  line.remove(id);
}

// Ours at every tick, whatever became of the one before, counted from the tick; the peer in the middle between two.
std::vector<Samples> open_loop(const Contender& ours, const Contender& peer) {
  Samples our_times(ours.name), peer_times(peer.name);
  Clock::time_point start = Clock::now();
  for (int i = 0; i * kPeriod < kOpenLoop; ++i) {
    Clock::time_point tick = start + i * kPeriod;
    std::this_thread::sleep_until(tick);
    ours.work();
    our_times.add(std::chrono::duration<double, std::milli>(Clock::now() - tick).count());
    if (Clock::now() > tick + kPeriod / 2) continue;
    std::this_thread::sleep_until(tick + kPeriod / 2);
    peer_times.add(cove::bench::milliseconds(peer.work));
  }
  return {our_times, peer_times};
}

// Where the time of one run goes: each of its requests by itself, in the rhythm of the open loop.
void measure_steps(Line& line, const std::string& name, void (*exec)(Line&, const std::string&)) {
  using cove::bench::milliseconds;
  Samples create("create"), run(name), remove("delete");
  for (int i = 0; i < kRounds; ++i) {
    std::string id;
    create.add(milliseconds([&] { id = line.create(); }));
    run.add(milliseconds([&] { exec(line, id); }));
    remove.add(milliseconds([&] { line.remove(id); }));
    std::this_thread::sleep_for(kPeriod);
  }
  print_table({create, run, remove});
}

void print_open_loop(const std::string& name, const std::vector<Samples>& rows) {
  print_table(rows);
  print_ratio(name, rows[0].median() / rows[1].median());
  print_ratio(name + "_p99", rows[0].percentile(0.99) / rows[1].percentile(0.99));
}

// How often a second, by several at once; each has what `begin` gives it.
double rate(const std::function<std::function<void()>(int)>& begin, seconds duration) {
  std::atomic<int> count = 0;
  std::vector<std::thread> clients;
  Clock::time_point start = Clock::now();
  for (int i = 0; i < kClients; ++i)
    clients.emplace_back([&, i] {
      std::function<void()> work = begin(i);
      for (; Clock::now() - start < duration; ++count) work();
    });
  for (std::thread& client : clients) client.join();
  return count / std::chrono::duration<double>(Clock::now() - start).count();
}

std::function<std::function<void()>(int)> over_lines(const Server& server, void (*work)(Line&)) {
  return [&server, work](int) {
    auto line = std::make_shared<Line>(server.socket());
    return [line, work] { work(*line); };
  };
}

struct RatePeer {
  std::string ratio;
  std::string name;
  std::function<double(seconds)> rate;
};

// Ours and the peers' take turns, because the machine's own speed changes within seconds.
void print_rates(const std::string& what, const std::function<double(seconds)>& ours,
                 const std::vector<RatePeer>& peers) {
  double our_sum = 0;
  std::vector<double> peer_sums(peers.size());
  for (int i = 0; i < kTurns; ++i) {
    for (size_t k = 0; k < peers.size(); ++k) peer_sums[k] += peers[k].rate(kSaturated / kTurns);
    our_sum += ours(kSaturated / kTurns);
  }
  std::printf("2 clients: %.0f %s a second\n", our_sum / kTurns, what.c_str());
  for (size_t k = 0; k < peers.size(); ++k) {
    std::printf("2 clients: %.0f %s\n", peer_sums[k] / kTurns, peers[k].name.c_str());
    print_ratio(peers[k].ratio, our_sum / peer_sums[k]);
  }
}

// Where the server has no pool its layers are folders; memory is the least that they can cost.
std::unique_ptr<Floor> floor_of(const Server& server) {
  if (find_layer_facts(server.folder()).no_pool.empty()) return std::make_unique<Floor>(server.folder() + "/floor");
  return std::make_unique<Floor>();
}

void measure_churn(const Server& server) {
  auto same = floor_of(server);
  const Floor in_memory;
  auto peer = [](const Floor& floor) { return [&floor](seconds time) { return floor.rate(kClients, time); }; };
  print_rates("sandboxes", [&](seconds time) { return rate(over_lines(server, run_true), time); },
              {{"churn_vs_floor", "by the kernel alone, for the same mounts", peer(*same)},
               {"churn_vs_floor_in_memory", "by the kernel alone, with layers in memory", peer(in_memory)}});
}

void measure_snippets(const Server& server) {
  auto bare = [](int) { return [] { spawn_and_wait(kPython); }; };
  print_rates("Python snippets", [&](seconds time) { return rate(over_lines(server, run_python), time); },
              {{"python_throughput", "by python3 -c pass alone", [&](seconds time) { return rate(bare, time); }}});
}

void measure_burst(const Server& server) {
  Samples times("create, 100 at once");
  std::vector<double> took(kBurst);
  std::vector<std::string> ids(kBurst);
  std::vector<std::thread> clients;
  std::atomic<bool> go = false;
  for (int i = 0; i < kBurst; ++i)
    clients.emplace_back([&, i] {
      Line line(server.socket());
      while (!go) std::this_thread::yield();
      took[static_cast<size_t>(i)] = cove::bench::milliseconds(
          [&] { ids[static_cast<size_t>(i)] = line.create(R"({"limits":{"memory":"64m"}})"); });
    });
  go = true;
  for (std::thread& client : clients) client.join();
  for (double each : took) times.add(each);
  print_table({times});
  Line line(server.socket());
  for (const std::string& id : ids) line.remove(id);
}

// Nothing but what is kept ready may be there ten seconds after a load.
void check_nothing_left(const Server& server) {
  std::this_thread::sleep_for(seconds(10));
  Line line(server.socket());  // an older one was closed by the server, which had long heard nothing
  auto there = nlohmann::json::parse(line.ask("GET", "/v1/sandboxes").body)["items"].size();
  std::printf("left over after the load: %zu sandboxes\n", there);
  if (there != 0) std::exit(1);
}

// A small image of two layers with what `true` needs, made and pulled as any other.
std::string pull_image(const Server& server, const Registry& registry, Line& line) {
  const std::string root = server.folder() + "/image", layout = server.folder() + "/layout";
  const std::string words = "mkdir -p " + root + "/bin && cp -L /bin/true " + root +
                            "/bin && ldd /bin/true | grep -o '/[^ ]*' | xargs -I{} cp -L --parents {} " + root;
  if (std::system(words.c_str()) != 0) give_up("copy true");
  spawn_and_wait({"umoci", "init", "--layout", layout});
  spawn_and_wait({"umoci", "new", "--image", layout + ":x"});
  spawn_and_wait({"umoci", "insert", "--image", layout + ":x", root, "/"});
  spawn_and_wait({"umoci", "insert", "--image", layout + ":x", "/etc/os-release", "/etc/os-release"});
  registry.push(layout, "x", "warm:1");
  const std::string name = registry.address("warm:1");
  line.ask("POST", "/v1/images?wait=true", R"({"reference":")" + name + R"("})");
  return name;
}

// From nothing to the end of a program, in a sandbox of a pulled image and in one of the host's.
void measure_image(const Server& server) {
  Registry registry(server.folder());
  Line line(server.socket());
  const std::string body = R"({"image":")" + pull_image(server, registry, line) + R"("})";
  Samples image("create, exec true; a pulled image"), host("create, exec true; host");
  auto start = [&](const std::string& with, Samples* times) {
    std::string id;
    double took = cove::bench::milliseconds([&] {
      id = line.create(with);
      line.exec_true(id);
    });
    if (times) times->add(took);
    line.remove(id);
    std::this_thread::sleep_for(kPeriod / 2);
  };
  // From now on the pool keeps both.
  start(body, nullptr), start("{}", nullptr);
  std::this_thread::sleep_for(seconds(2));
  for (int i = 0; i < kRounds; ++i) start(body, &image), start("{}", &host);
  print_table({image, host});
  print_ratio("image_start_vs_host", image.median() / host.median());
}

void measure_command_line(const Server& server) {
  ::setenv("COVE_STATE", server.state().c_str(), 1);
  Command run = {folder_of_programs() + "/cove", "run", "--", "true"};
  std::printf("cove: COVE_STATE=… %s\n", text_of(run).c_str());
  std::vector<Samples> rows = alternate(
      {{"cove run -- true, with a server", [&] { spawn_and_wait(run); }}, {"bwrap", [] { spawn_and_wait(kBwrap); }}},
      kRounds, milliseconds(20));
  print_table(rows);
  print_ratio("cli_run_vs_bwrap", rows[0].median() / rows[1].median());
}

}  // namespace
}  // namespace cove::bench

int main(int argc, char** argv) {
  using namespace cove::bench;
  // A part, and settings of the server to try.
  std::string only = argc > 1 ? argv[1] : "";
  std::vector<std::string> settings = {"pool.size=16"};
  for (int i = 2; i < argc; ++i) settings.push_back(argv[i]);
  ::setvbuf(stdout, nullptr, _IOLBF, 0);
  auto wanted = [&](const char* part) { return only.empty() || only == part; };
  std::printf("peer: %s\npeer: %s\n", text_of(kBwrap).c_str(), text_of(kPython).c_str());
  Server server(settings);
  Line line(server.socket());
  run_true(line);  // the image is made by the first
  std::this_thread::sleep_for(seconds(2));
  if (only == "steps") {
    measure_steps(line, "exec true", [](Line& to, const std::string& id) { to.exec_true(id); });
    measure_steps(line, "exec python", pass_in);
  }
  if (wanted("run"))
    print_open_loop("warm_run_vs_bwrap",
                    open_loop({"API: create, exec true, delete; 20 a second", [&] { run_true(line); }},
                              {"bwrap", [] { spawn_and_wait(kBwrap); }}));
  if (wanted("python"))
    print_open_loop("python_vs_host",
                    open_loop({"API: create, python snippet, delete; 20 a second", [&] { run_python(line); }},
                              {"python3 -c pass", [] { spawn_and_wait(kPython); }}));
  if (wanted("image")) measure_image(server);
  if (wanted("cli")) measure_command_line(server);
  if (wanted("saturated") || only == "churn") measure_churn(server);
  if (wanted("saturated") || only == "snippets") measure_snippets(server);
  if (only == "ours-alone") rate(over_lines(server, run_true), kSaturated);  // for a profiler
  if (only == "floor-alone") floor_of(server)->rate(kClients, kSaturated);
  if (only == "python-alone") rate(over_lines(server, run_python), kSaturated);
  if (only == "bare-python-alone") rate([](int) { return [] { spawn_and_wait(kPython); }; }, kSaturated);
  if (wanted("burst")) measure_burst(server);
  if (wanted("saturated") || wanted("burst")) check_nothing_left(server);
}
