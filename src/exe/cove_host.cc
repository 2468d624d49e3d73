#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/text.h"
#include "host/harmless.h"
#include "host/host_run.h"
#include "sys/file.h"
#include "sys/landlock.h"
#include "sys/standard_streams.h"

// cove-host --judge [--report FD] [--cwd PATH] [--seen-at PATH] [--in FOLDER] COMMAND ARGUMENT…
// cove-host --judge … --shell TEXT                      a command by its name, if it is harmless
// cove-host [--names] [--in FOLDER] PROGRAM ARGUMENT…   a program by its full path, with the same restrictions;
// --names: it
//                                                       may read the names of users
// "--" may precede the command or the program.
// The judgement is written to FD as "yes WHY" or "no WHY". PATH is absolute, on the host or in the sandbox, where the
// workspace is at --seen-at. Descriptor 3 is the workspace; FOLDER is below it. Exits with the program's exit code, or
// with 125 and a line on standard error if nothing was run.
namespace {

using namespace cove;

constexpr int kWorkspace = 3;
constexpr int kNotRun = 125;

struct Words {
  bool judge = false;
  bool names = false;
  int report = -1;
  std::string folder = ".";
  std::string cwd;
  std::string seen_at;
  std::string shell;
  std::vector<std::string> command;
};

Words parse(int argc, char** argv) {
  Words words;
  int next = 1;
  auto value = [&](const char* option, auto take) {
    if (next + 1 >= argc || std::strcmp(argv[next], option) != 0) return;
    take(argv[next + 1]);
    next += 2;
  };
  if (next < argc && std::strcmp(argv[next], "--judge") == 0) words.judge = true, ++next;
  if (next < argc && std::strcmp(argv[next], "--names") == 0) words.names = true, ++next;
  value("--report", [&](const char* text) { words.report = std::atoi(text); });
  value("--cwd", [&](const char* text) { words.cwd = text; });
  value("--seen-at", [&](const char* text) { words.seen_at = text; });
  value("--in", [&](const char* text) { words.folder = text; });
  value("--shell", [&](const char* text) { words.shell = text; });
  if (next < argc && std::strcmp(argv[next], "--") == 0) ++next;
  words.command.assign(argv + next, argv + argc);
  return words;
}

void report(const Words& words, const HarmlessVerdict& verdict) {
  if (words.report < 0) return;
  static_cast<void>(sys::write_all(words.report, concat(verdict.harmless ? "yes " : "no ", verdict.why)));
}

// Judged again here with the rights of the caller, independent of any judgement of the parent.
Result<HostOrder> judged(const Words& words) {
  HostCommand command;
  command.argv = words.command;
  command.shell = words.shell;
  command.workspace = COVE_TRY(sys::readlink(sys::fd_path(kWorkspace)));
  command.folder = kWorkspace;
  command.seen_at = words.seen_at;
  command.cwd = !words.cwd.empty() || words.folder == "." ? words.cwd : concat(command.workspace, "/", words.folder);
  HarmlessVerdict verdict = judge(command);
  // A reported yes must be reliable, so the restrictions are prepared first.
  if (Result<sys::Landlock> fence = sys::Landlock::create(); verdict.harmless && !fence) {
    verdict.harmless = false;
    verdict.why = concat("this machine cannot restrict it: ", fence.error().message());
  }
  report(words, verdict);
  if (!verdict.harmless) return fail(Code::Denied, concat("not harmless: ", verdict.why));
  return HostOrder{kWorkspace, verdict.folder, verdict.argv, verdict.names};
}

int refuse(const Error& error) {
  std::fprintf(stderr, "cove-host: %s\n", error.message().c_str());
  return kNotRun;
}

}  // namespace

int main(int argc, char** argv) {
  cove::sys::keep_standard_streams();
  Words words = parse(argc, argv);
  Result<HostOrder> order = HostOrder{kWorkspace, words.folder, words.command, words.names};
  if (words.judge) order = judged(words);
  return refuse(order ? run_on_host(*order) : order.error());
}
