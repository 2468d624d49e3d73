#include "sys/cgroup_folder.h"

#include <dirent.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <memory>
#include <unordered_set>

#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cove::sys {
namespace {

constexpr int kMostKillRounds = 1000;

bool is_gone(const Error& error) { return error.errnum() == ENOENT || error.errnum() == ENODEV; }

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

void sleep_for(std::chrono::microseconds time) {
  struct timespec span = {time.count() / 1'000'000, (time.count() % 1'000'000) * 1000};
  ::nanosleep(&span, nullptr);
}

Result<void> send_kill(pid_t pid) {
  if (pid <= 0) return fail(Code::Denied, "kill: a process of another pid namespace is in the group");
  if (::kill(pid, SIGKILL) < 0 && errno != ESRCH) return fail_errno(concat("kill ", pid));
  return {};
}

// One round after the other over the processes of a group, each of which is signalled once.
class KillRounds {
 public:
  // True where there were new ones.
  Result<bool> next(int folder, const std::string& file) {
    size_t before = known_.size();
    auto kill_in = [&](int group) -> Result<void> {
      kill_listed(COVE_TRY(read_file_at(group, file)));
      return {};
    };
    COVE_TRY(visit_groups(folder, kill_in));
    return known_.size() > before;
  }
  // The first signal that could not be sent.
  Result<void> outcome() const { return sent_; }

 private:
  void kill_listed(std::string_view pids) {
    for (const char *at = pids.data(), *end = at + pids.size(); at < end; ++at) {
      pid_t pid = 0;
      at = std::from_chars(at, end, pid).ptr;
      if (!known_.insert(pid).second) continue;
      if (Result<void> sent = send_kill(pid); !sent && sent_) sent_ = sent;
    }
  }

  std::unordered_set<pid_t> known_;
  Result<void> sent_;
};

}  // namespace

std::string controller_name(Controller controller) {
  switch (controller) {
    case Controller::Cpu:
      return "cpu";
    case Controller::Memory:
      return "memory";
    case Controller::Pids:
      return "pids";
    case Controller::Io:
      return "io";
    case Controller::Freezer:
      return "freezer";
    case Controller::Cpuset:
      return "cpuset";
  }
  return "unknown";
}

Result<void> check_group_name(const std::string& name) {
  bool good = !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), is_name_character);
  if (!good) return fail(Code::Invalid, concat("invalid cgroup name '", name, "'"));
  return {};
}

Result<UniqueFd> open_group(int parent, const std::string& name) {
  return openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
}

Result<UniqueFd> make_group(int parent, const std::string& name) {
  COVE_TRY(mkdirat(parent, name, 0755));
  return open_group(parent, name);
}

Result<void> remove_group(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  int errnum = errno;
  Error error = Error::from_errno(errnum, concat("rmdir ", name));
  if (errnum != EBUSY && errnum != ENOTEMPTY) return fail(std::move(error));
  Result<UniqueFd> folder = open_group(parent, name);
  if (!folder && is_gone(folder.error())) return {};
  if (!folder) return fail(folder.error());
  std::vector<std::string> children = COVE_TRY(child_groups(folder->get()));
  if (children.empty()) return fail(std::move(error).as(Code::Unavailable));
  for (const std::string& child : children) COVE_TRY_NOTE(name, remove_group(folder->get(), child));
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return fail(Error::from_errno(errno, concat("rmdir ", name)).as(Code::Unavailable));
}

Result<std::vector<std::string>> child_groups(int folder) {
  std::vector<std::string> names;
  struct stat info = COVE_TRY(fstat(folder));
  if (info.st_nlink <= 2) return names;  // a link for each folder below, beside "." and the name
  UniqueFd own = COVE_TRY(openat(folder, ".", O_RDONLY | O_DIRECTORY));
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  if (!stream) return fail_errno("list a cgroup");
  static_cast<void>(own.release());
  while (dirent* entry = ::readdir(stream.get())) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> visit_groups(int folder, const Visit& visit) {
  COVE_TRY(visit(folder));
  for (const std::string& name : COVE_TRY(child_groups(folder))) {
    Result<UniqueFd> child = open_group(folder, name);
    if (!child && is_gone(child.error())) continue;
    if (!child) return fail(child.error());
    Result<void> visited = visit_groups(child->get(), visit);
    if (!visited && !is_gone(visited.error())) return visited;
  }
  return {};
}

uint64_t leading_number(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Result<uint64_t> read_number(int folder, const std::string& file) {
  UniqueFd fd = COVE_TRY(openat(folder, file, O_RDONLY));
  char text[32];
  ssize_t size = ::read(fd.get(), text, sizeof text);
  if (size < 0) return fail_errno(concat("read ", file));
  return leading_number({text, static_cast<size_t>(size)});
}

uint64_t read_number_or(int folder, const std::string& file, uint64_t otherwise) {
  return read_number(folder, file).value_or(otherwise);
}

uint64_t keyed_number(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ')
      return leading_number(line.substr(key.size() + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}

Result<uint64_t> sum_of_keyed(int folder, const std::string& file, std::string_view key) {
  uint64_t sum = 0;
  auto add = [&](int group) -> Result<void> {
    sum += keyed_number(COVE_TRY(read_file_at(group, file)), key);
    return {};
  };
  COVE_TRY(visit_groups(folder, add));
  return sum;
}

Result<void> kill_everything(int folder, const std::string& file) {
  KillRounds rounds;
  for (int round = 0; round < kMostKillRounds; ++round) {
    if (!COVE_TRY(rounds.next(folder, file))) return rounds.outcome();
  }
  return fail(Code::Unavailable, "kill a cgroup: it forks faster than it can be killed");
}

Result<bool> wait_until(std::chrono::milliseconds patience, const std::function<Result<bool>()>& done) {
  auto end = std::chrono::steady_clock::now() + patience;
  std::chrono::microseconds pause(20);
  while (!COVE_TRY(done())) {
    if (std::chrono::steady_clock::now() >= end) return false;
    sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(4000));
  }
  return true;
}

Result<uint64_t> cpu_quota_us(double cpus) {
  double quota = std::round(cpus * static_cast<double>(kCpuPeriodUs));
  if (!(quota >= 1000 && quota <= 1e12)) return fail(Code::Invalid, "a cgroup gets at least 0.01 CPUs");
  return static_cast<uint64_t>(quota);
}

std::unexpected<Error> missing_controller(Controller controller, std::string hint) {
  Error error(Code::Unsupported, concat("the cgroup has no ", controller_name(controller), " controller"));
  return fail(std::move(error).hint(std::move(hint)));
}

std::unexpected<Error> uncounted_swap() {
  return fail(Error(Code::Unsupported, "this kernel does not count swap").hint("start the kernel with swapaccount=1"));
}

std::string choose_cpus(std::string_view list, unsigned count) {
  static std::atomic<unsigned> next = static_cast<unsigned>(::getpid());
  if (count == 0) return std::string(trim(list));
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const std::string& range : split(trim(list), ',')) {
    const uint64_t first = leading_number(range);
    const size_t dash = range.find('-');
    const uint64_t last = dash == range.npos ? first : leading_number(std::string_view(range).substr(dash + 1));
    for (uint64_t cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) CPU_SET(static_cast<size_t>(cpu), &all);
  }
  const cpu_set_t chosen = some_of(all, count, next++);
  std::string text;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &chosen)) text += concat(text.empty() ? "" : ",", cpu);
  return text;
}

Result<void> destroy(Cgroup& group, std::chrono::milliseconds patience) {
  if (group.remove()) return {};
  COVE_TRY(group.kill());
  Result<void> removed;
  COVE_TRY(wait_until(patience, [&]() -> Result<bool> {
    removed = group.remove();
    if (!removed && removed.error().code() != Code::Unavailable) return fail(removed.error());
    return removed.has_value();
  }));
  return removed;
}

}  // namespace cove::sys
