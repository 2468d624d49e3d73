#include "init/inner_groups.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cove::init {
namespace {

constexpr const char* kPlace = "/proc";  // any existing folder: it is covered only for a moment

std::string read_all(int fd) {
  std::string text;
  char piece[4096];
  for (ssize_t size; (size = ::read(fd, piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(size));
  return text;
}

bool write_number(int folder, const char* name, uint64_t number) {
  UniqueFd file(::openat(folder, name, O_WRONLY | O_CLOEXEC));
  char text[32];
  int size = std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(number));
  return file && ::write(file.get(), text, static_cast<size_t>(size)) == size;
}

// The top folder of a hierarchy, which is not mounted anywhere else.
UniqueFd open_hierarchy(const char* controller) {
  if (::mount("cgroup", kPlace, "cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC, controller) < 0) return {};
  UniqueFd top(::open(kPlace, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (::umount2(kPlace, MNT_DETACH) < 0) return {};
  return top;
}

// A line of /proc/meminfo, in bytes.
uint64_t meminfo(const std::string& text, const char* name) {
  size_t line = text.find(name);
  return line == std::string::npos ? 0 : std::strtoull(text.c_str() + line + std::strlen(name), nullptr, 10) * 1024;
}

}  // namespace

int InnerGroups::make(uint64_t processes) {
  UniqueFd bounds = open_hierarchy("pids");
  programs_ = open_hierarchy("cpuacct");
  if (!bounds || !programs_) return -1;
  constexpr const char* kAll = "programs";
  if (::mkdirat(bounds.get(), kAll, 0755) < 0) return -1;
  bounded_.reset(::openat(bounds.get(), kAll, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!bounded_ || (processes > 0 && !write_number(bounded_.get(), "pids.max", processes))) return -1;
  return 0;
}

std::vector<UniqueFd> InnerGroups::open(const std::string& program) const {
  std::vector<UniqueFd> fds;
  if (::mkdirat(programs_.get(), program.c_str(), 0755) < 0 && errno != EEXIST) return fds;
  UniqueFd own(::openat(programs_.get(), (program + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  UniqueFd bounded(::openat(bounded_.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
  if (!own || !bounded) return fds;
  fds.push_back(std::move(own));
  fds.push_back(std::move(bounded));
  return fds;
}

std::vector<pid_t> InnerGroups::processes_of(const std::string& program) const {
  UniqueFd file(::openat(programs_.get(), (program + "/cgroup.procs").c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<pid_t> pids;
  if (!file) return pids;
  std::string text = read_all(file.get());
  for (char* at = text.data(); *at != '\0';) {
    char* end = at;
    long pid = std::strtol(at, &end, 10);
    if (end == at) break;
    if (pid > 1) pids.push_back(static_cast<pid_t>(pid));
    at = end;
    while (*at == '\n') ++at;
  }
  return pids;
}

void InnerGroups::kill(const std::string& program) const {
  constexpr int kRounds = 100;
  for (int i = 0; i < kRounds; ++i) {
    bool any = false;
    for (pid_t pid : processes_of(program)) any = ::kill(pid, SIGKILL) == 0 || any;
    if (!any) return;
  }
}

bool InnerGroups::contains(const std::string& program, pid_t pid) const {
  for (pid_t each : processes_of(program))
    if (each == pid) return true;
  return false;
}

void InnerGroups::remove(const std::string& program) const {
  static_cast<void>(::unlinkat(programs_.get(), program.c_str(), AT_REMOVEDIR));
}

uint64_t memory_in_use() {
  UniqueFd file(::open("/proc/meminfo", O_RDONLY | O_CLOEXEC));
  std::string text = file ? read_all(file.get()) : std::string();
  return meminfo(text, "Active(anon):") + meminfo(text, "Inactive(anon):") + meminfo(text, "Shmem:");
}

pid_t largest_process() {
  DIR* folder = ::opendir("/proc");
  if (!folder) return -1;
  pid_t largest = -1;
  unsigned long most = 0;
  while (const dirent* entry = ::readdir(folder)) {
    int pid = std::atoi(entry->d_name);
    if (pid <= 1) continue;
    UniqueFd file(::open((std::string("/proc/") + entry->d_name + "/statm").c_str(), O_RDONLY | O_CLOEXEC));
    unsigned long size = 0, resident = 0;
    if (!file || std::sscanf(read_all(file.get()).c_str(), "%lu %lu", &size, &resident) != 2) continue;
    if (resident > most) most = resident, largest = pid;
  }
  ::closedir(folder);
  return largest;
}

}  // namespace cove::init
