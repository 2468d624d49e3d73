#include "host/host_run.h"

#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "host/harmless_paths.h"
#include "init/fences.h"
#include "sys/file.h"
#include "sys/landlock.h"

namespace cove {
namespace {

constexpr rlim_t kCpuSeconds = 10;
constexpr unsigned kSeconds = 30;
constexpr rlim_t kMemory = rlim_t{1} << 30;
constexpr rlim_t kOpenFiles = 256;
constexpr const char* kReadableFiles[] = {"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime"};
constexpr const char* kNameFiles[] = {"/etc/passwd", "/etc/group", "/etc/nsswitch.conf"};
constexpr const char* kReadableFolders[] = {"/usr", "/bin"};
constexpr const char* kLibraryFolders[] = {"/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/lib", "/lib64"};

// Some of these do not exist on every machine.
Result<void> allow_path(sys::Landlock& fence, const char* path, uint64_t rights) {
  Result<UniqueFd> file = sys::open(path, O_PATH);
  if (!file && file.error().code() == Code::NotFound) return {};
  if (!file) return fail(std::move(file).error());
  return fence.allow(file->get(), rights);
}

Result<sys::Landlock> make_fence(const HostOrder& order) {
  UniqueFd program = COVE_TRY(harmless::open_trusted_program(order.argv[0]));
  sys::Landlock fence = COVE_TRY(sys::Landlock::create());
  COVE_TRY(fence.allow(order.workspace, sys::kLandlockRead));
  COVE_TRY(fence.allow(program.get(), sys::kLandlockReadFile | sys::kLandlockExecute));
  for (const char* path : kReadableFiles) COVE_TRY(allow_path(fence, path, sys::kLandlockReadFile));
  if (order.names)
    for (const char* path : kNameFiles) COVE_TRY(allow_path(fence, path, sys::kLandlockReadFile));
  for (const char* path : kReadableFolders) COVE_TRY(allow_path(fence, path, sys::kLandlockRead));
  // Execute permission is for the dynamic loader; libraries are only mapped.
  for (const char* path : kLibraryFolders)
    COVE_TRY(allow_path(fence, path, sys::kLandlockRead | sys::kLandlockExecute));
  return fence;
}

// Returns the workspace's path, used as HOME.
Result<std::string> enter_folder(int workspace, const std::string& below) {
  constexpr uint64_t kStayInside = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  UniqueFd folder = COVE_TRY(sys::openat2(workspace, below, O_PATH | O_DIRECTORY, kStayInside));
  if (::fchdir(folder.get()) < 0) return fail_errno(concat("chdir ", below));
  return sys::readlink(sys::fd_path(workspace));
}

Result<void> empty_input() {
  UniqueFd null = COVE_TRY(sys::open("/dev/null", O_RDONLY));
  if (::dup2(null.get(), 0) < 0) return fail_errno("dup2");
  return {};
}

void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Result<void> set_limits() {
  const std::pair<__rlimit_resource_t, rlim_t> limits[] = {{RLIMIT_CPU, kCpuSeconds}, {RLIMIT_AS, kMemory},
                                                           {RLIMIT_FSIZE, 0},         {RLIMIT_NPROC, 1},
                                                           {RLIMIT_CORE, 0},          {RLIMIT_NOFILE, kOpenFiles}};
  for (auto [resource, wanted] : limits) {
    struct rlimit limit;
    if (::getrlimit(resource, &limit) < 0) return fail_errno("getrlimit");
    limit.rlim_max = limit.rlim_cur = std::min(limit.rlim_max, wanted);
    if (::setrlimit(resource, &limit) < 0) return fail_errno("setrlimit");
  }
  ::alarm(kSeconds);  // survives execve
  return {};
}

Result<void> drop_privileges() {
  if (init::no_new_privileges() < 0) return fail_errno("no_new_privs");
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // Without privilege the bounding set cannot be changed, but has no effect with no_new_privs.
  if (init::limit_bounding_set(0) < 0 && errno != EPERM) return fail_errno("drop the bounding set");
  if (init::set_capabilities(0) < 0) return fail_errno("capset");
  return {};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

Result<void> execute(const HostOrder& order, const std::string& home) {
  std::vector<std::string> words = order.argv;
  words[0].erase(0, words[0].rfind('/') + 1);  // programs use it as the prefix of messages
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + home};
  std::vector<char*> argv = pointers(words);
  std::vector<char*> env = pointers(environment);
  ::execve(order.argv[0].c_str(), argv.data(), env.data());
  return fail_errno(concat("execute ", order.argv[0]));
}

Result<void> run(const HostOrder& order) {
  if (order.argv.empty()) return fail(Code::Invalid, "the command is empty");
  sys::Landlock fence = COVE_TRY_NOTE("create the Landlock rules", make_fence(order));
  std::string home = COVE_TRY_NOTE("enter the working folder", enter_folder(order.workspace, order.folder));
  COVE_TRY(empty_input());
  reset_signals();
  ::umask(077);
  COVE_TRY(set_limits());
  COVE_TRY(drop_privileges());
  COVE_TRY(fence.restrict_self());
  // This also closes the ruleset's descriptor.
  if (::syscall(SYS_close_range, 3, ~0u, 0) < 0) return fail_errno("close_range");
  if (init::apply_host_filter() < 0) return fail_errno("seccomp");
  return execute(order, home);
}

}  // namespace

Error run_on_host(const HostOrder& order) { return run(order).error(); }

}  // namespace cove
