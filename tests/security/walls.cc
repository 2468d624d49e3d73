#include "security/walls.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "security/host.h"

namespace cove::test {
namespace {

// Shows a user with subordinate ids to what runs below, without touching the machine's own files.
constexpr const char* kWithSubordinateIds =
    "mount --bind $1/passwd /etc/passwd && mount --bind $1/subids /etc/subuid && "
    "mount --bind $1/subids /etc/subgid && shift && exec \"$@\"";

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

Words as_user(unsigned id, const std::string& home) {
  std::string number = std::to_string(id);
  return {"setpriv",
          "--reuid",
          number,
          "--regid",
          number,
          "--clear-groups",
          "env",
          "HOME=" + home,
          "XDG_CACHE_HOME=" + home + "/cache",
          "XDG_RUNTIME_DIR=" + home + "/run",
          "DBUS_SESSION_BUS_ADDRESS="};
}

Words as_outside(Outside outside) {
  const Host& host = Host::get();
  if (outside == Outside::Root) return {};
  if (outside == Outside::Rootless) return as_user(Host::kOrdinary, host.folder() + "/ordinary");
  Words words = {"unshare", "-m", "--propagation", "private", "sh", "-c", kWithSubordinateIds, "sh", host.folder()};
  append(words, as_user(Host::kSubordinate, host.folder() + "/subordinate"));
  return words;
}

}  // namespace

std::vector<Mode> every_mode() {
  std::vector<Mode> modes;
  for (Outside outside : {Outside::Root, Outside::Rootless, Outside::Subordinate})
    for (Inside inside : {Inside::User, Inside::Root}) modes.push_back({outside, inside});
  return modes;
}

std::string mode_name(Mode mode) {
  std::string inside = mode.inside == Inside::User ? "AsUser" : "AsRoot";
  if (mode.outside == Outside::Root) return inside + "UnderRoot";
  return inside + (mode.outside == Outside::Rootless ? "Rootless" : "RootlessWithSubordinateIds");
}

void PrintTo(Mode mode, std::ostream* out) { *out << mode_name(mode); }

std::string why_not(Outside outside) {
  if (!is_root()) return "this test needs root: it hides files of root's on the host and plays several users";
  if (outside == Outside::Subordinate && ::access("/usr/bin/newuidmap", X_OK) < 0)
    return "this test needs newuidmap (Debian: apt install uidmap)";
  return "";
}

std::string why_not_runtime(Outside outside) {
  static std::map<Outside, std::string> told;
  const char* runtime = ::getenv("COVE_TEST_RUNTIME");
  if (!runtime || told.contains(outside)) return told[outside];
  Words words = as_outside(outside);
  append(words, {build_folder() + "/cove", "doctor", "--json"});
  Outcome doctor = run(words);
  std::string& why = told[outside] = "the doctor says nothing of it: " + doctor.err;
  for (const auto& each : nlohmann::json::parse(doctor.out, nullptr, false).value("runtimes", nlohmann::json::array()))
    if (each["name"] == runtime) why = each["available"].get<bool>() ? "" : each["problem"].get<std::string>();
  return why;
}

std::vector<std::string> command_line(const Order& order) {
  Words words = as_outside(order.mode.outside);
  append(words, {build_folder() + "/cove", "run", "-u", order.mode.inside == Inside::User ? "user" : "root"});
  // The attempts can be made against another runtime than native.
  if (const char* runtime = ::getenv("COVE_TEST_RUNTIME")) append(words, {"--runtime", runtime});
  for (const std::string& theme : order.testees)
    append(words, {"--copy-in", build_folder() + "/testee-" + theme + ":/tmp/testee-" + theme});
  for (const auto& [name, value] : Host::get().settings()) append(words, {"-e", name + "=" + value});
  append(words, order.options);
  words.push_back("--");
  append(words, order.command);
  return words;
}

// What the machine lacks is told once to a user; here it says which attempts are judged.
void let_warnings_be_told_again() {
  for (const char* user : {"/ordinary", "/subordinate"})
    std::filesystem::remove(Host::get().folder() + user + "/run/cove/warned");
}

Outcome run(const Order& order) {
  let_warnings_be_told_again();
  ChildOptions options;
  options.cwd = Host::get().folder();
  return run(command_line(order), options);
}

Running::Running(const Order& order) {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) < 0 || ::pipe2(out, O_CLOEXEC) < 0) ::abort();
  Words words = command_line(order);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(99);
  }
  ::close(in[0]);
  ::close(out[1]);
  in_ = in[1];
  out_ = out[0];
}

Running::~Running() {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
  finish();
  ::close(out_);
}

std::string Running::read_line() {
  std::string line;
  for (char c; ::read(out_, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

void Running::write_line(const std::string& line) {
  std::string text = line + "\n";
  EXPECT_EQ(::write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

int Running::finish() {
  if (pid_ <= 0) return -1;
  ::close(in_);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace cove::test
