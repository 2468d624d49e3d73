#include "support/child.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace cove::test {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void child_main(const std::vector<std::string>& argv, const ChildOptions& options, int in, int out,
                             int err) {
  // Whoever started the tests may have had some ignored, as a shell does for its background.
  for (int number : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  for (const std::string& entry : options.env) ::putenv(const_cast<char*>(entry.c_str()));
  if (!options.cwd.empty() && ::chdir(options.cwd.c_str()) < 0) ::_exit(98);
  if (options.uid && (::setgroups(0, nullptr) < 0 || ::setresgid(*options.uid, *options.uid, *options.uid) < 0 ||
                      ::setresuid(*options.uid, *options.uid, *options.uid) < 0))
    ::_exit(98);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  ::_exit(99);
}

void read_some(pollfd& polled, std::string& data) {
  if (polled.fd < 0 || polled.revents == 0) return;
  char buffer[65536];
  ssize_t count = ::read(polled.fd, buffer, sizeof buffer);
  if (count > 0)
    data.append(buffer, static_cast<size_t>(count));
  else
    ::close(std::exchange(polled.fd, -1));
}

void write_some(pollfd& polled, std::string& rest) {
  if (polled.fd < 0 || polled.revents == 0) return;
  ssize_t count = ::write(polled.fd, rest.data(), rest.size());
  if (count > 0) rest.erase(0, static_cast<size_t>(count));
  if (rest.empty() || (count < 0 && errno != EAGAIN)) ::close(std::exchange(polled.fd, -1));
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

void find_groups(const std::string& folder, int depth, std::vector<std::string>& found) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!entry.is_directory(error) || entry.is_symlink(error)) continue;
    std::string name = entry.path().filename();
    if (name.starts_with("cove-"))
      found.push_back(entry.path());
    else if (depth < 6)
      find_groups(entry.path(), depth + 1, found);
  }
}

std::vector<std::string> find_processes() {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::string name = entry.path().filename();
    if (name[0] < '1' || name[0] > '9') continue;
    std::ifstream file(entry.path() / "comm");
    std::string comm;
    std::getline(file, comm);
    if (comm == "cove" || comm == "cove-spawn" || comm == "cove-init") found.push_back(comm + " " + name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> list(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> find_loops() {
  std::vector<std::string> found;
  for (const std::string& device : list("/sys/block"))
    if (device.find("/loop") != std::string::npos && ::access((device + "/loop/backing_file").c_str(), F_OK) == 0)
      found.push_back(device);
  return found;
}

}  // namespace

Outcome run(const std::vector<std::string>& argv, const ChildOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  int in[2], out[2], err[2];
  if (::pipe2(in, O_CLOEXEC) < 0 || ::pipe2(out, O_CLOEXEC) < 0 || ::pipe2(err, O_CLOEXEC) < 0) ::abort();
  pid_t pid = ::fork();
  if (pid == 0) child_main(argv, options, in[0], out[1], err[1]);
  for (int fd : {in[0], out[1], err[1]}) ::close(fd);
  ::fcntl(in[1], F_SETFL, O_NONBLOCK);
  Outcome outcome;
  std::string rest = options.input;
  pollfd polled[] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}, {in[1], POLLOUT, 0}};
  if (rest.empty()) ::close(std::exchange(polled[2].fd, -1));
  Clock::time_point deadline = Clock::now() + options.patience;
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      outcome.timed_out = true;
      ::kill(pid, SIGKILL);
      break;
    }
    ::poll(polled, 3, static_cast<int>(left));
    read_some(polled[0], outcome.out);
    read_some(polled[1], outcome.err);
    write_some(polled[2], rest);
  }
  for (pollfd& entry : polled)
    if (entry.fd >= 0) ::close(entry.fd);
  int status = 0;
  ::waitpid(pid, &status, 0);
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

std::string build_folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

Outcome cove(std::vector<std::string> args, const ChildOptions& options) {
  args.insert(args.begin(), build_folder() + "/cove");
  return run(args, options);
}

bool is_root() { return ::geteuid() == 0; }

Traces find_traces() {
  Traces traces;
  traces.mounts = lines_of("/proc/self/mountinfo");
  find_groups("/sys/fs/cgroup", 0, traces.groups);
  traces.processes = find_processes();
  traces.loops = find_loops();
  for (const char* folder : {"/run/cove", "/var/lib/cove"})
    for (const std::string& path : list(folder)) traces.files.push_back(path);
  return traces;
}

std::string describe(const Traces& traces) {
  std::string text;
  for (const auto* kind : {&traces.groups, &traces.processes, &traces.loops, &traces.files})
    for (const std::string& line : *kind) text += line + "\n";
  return text + std::to_string(traces.mounts.size()) + " mounts\n";
}

// What was there before and what is new. What has gone meanwhile belonged to others who use Cove on this machine.
static Traces with_what_is_new(const Traces& before, const Traces& now) {
  Traces all = before;
  for (auto list : {&Traces::mounts, &Traces::groups, &Traces::processes, &Traces::loops, &Traces::files})
    for (const std::string& trace : now.*list)
      if (std::ranges::find(before.*list, trace) == (before.*list).end()) (all.*list).push_back(trace);
  return all;
}

Traces wait_for_traces(const Traces& before, std::chrono::milliseconds patience) {
  Clock::time_point deadline = Clock::now() + patience;
  Traces now = with_what_is_new(before, find_traces());
  while (now != before && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    now = with_what_is_new(before, find_traces());
  }
  return now;
}

}  // namespace cove::test
