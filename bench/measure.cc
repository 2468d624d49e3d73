#include "measure.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace cove::bench {

double Samples::percentile(double fraction) const {
  if (values_.empty()) return 0;
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  auto index = static_cast<size_t>(fraction * static_cast<double>(sorted.size()));
  return sorted[std::min(index, sorted.size() - 1)];
}

double milliseconds(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string folder_of_programs() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

void spawn_and_wait(const Command& command, Errors errors) {
  static const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  const int streams = errors == Errors::Hidden ? 3 : 2;
  for (int fd = 0; fd < streams; ++fd) ::posix_spawn_file_actions_adddup2(&actions, nowhere, fd);
  pid_t pid = -1;
  int errnum = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (errnum == 0) ::waitpid(pid, &status, 0);
  if (errnum != 0 || status != 0) {
    std::fprintf(stderr, "failed: %s\n", text_of(command).c_str());
    std::exit(1);
  }
}

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

std::string text_of(const Command& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<Samples> alternate(const std::vector<Contender>& contenders, int rounds, std::chrono::milliseconds pause) {
  std::vector<Samples> samples;
  for (const Contender& contender : contenders) {
    samples.emplace_back(contender.name);
    contender.work();  // once unmeasured: caches
  }
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (pause.count() > 0) std::this_thread::sleep_for(pause);
      samples[i].add(milliseconds(contenders[i].work));
    }
  return samples;
}

void print_table(const std::vector<Samples>& rows) {
  std::printf("%-44s %6s %9s %9s %9s\n", "", "n", "p50 ms", "p90 ms", "p99 ms");
  for (const Samples& row : rows)
    std::printf("%-44s %6zu %9.2f %9.2f %9.2f\n", row.name().c_str(), row.size(), row.median(), row.percentile(0.9),
                row.percentile(0.99));
}

void print_ratio(const std::string& name, double value) { std::printf("ratio %s %.2f\n", name.c_str(), value); }

}  // namespace cove::bench
