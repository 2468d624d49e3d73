#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/text.h"
#include "engine/harmless.h"
#include "engine/host_run.h"
#include "sys/file.h"

// cove-host --judge [--in FOLDER] COMMAND ARGUMENT…     a command by its name, where it is harmless
// cove-host [--names] [--in FOLDER] PROGRAM ARGUMENT…   a program by its full path, behind the same fence; --names: it
//                                                       may read the names of users
// Descriptor 3 is the workspace; FOLDER is below it. Exits as the program does; with 125, and a line on standard error,
// where nothing was run.
namespace {

using namespace cove;

constexpr int kWorkspace = 3;
constexpr int kNotRun = 125;

struct Words {
  bool judge = false;
  bool names = false;
  std::string folder = ".";
  std::vector<std::string> command;
};

Words parse(int argc, char** argv) {
  Words words;
  int next = 1;
  if (next < argc && std::strcmp(argv[next], "--judge") == 0) words.judge = true, ++next;
  if (next < argc && std::strcmp(argv[next], "--names") == 0) words.names = true, ++next;
  if (next + 1 < argc && std::strcmp(argv[next], "--in") == 0) words.folder = argv[next + 1], next += 2;
  words.command.assign(argv + next, argv + argc);
  return words;
}

// Here with the rights of the caller, whatever whoever started this has found.
Result<HostOrder> judged(const Words& words) {
  HostCommand command;
  command.argv = words.command;
  command.workspace = COVE_TRY(sys::readlink(sys::fd_path(kWorkspace)));
  command.folder = kWorkspace;
  command.cwd = words.folder == "." ? "" : concat(command.workspace, "/", words.folder);
  HarmlessVerdict verdict = judge(command);
  if (!verdict.harmless) return fail(Code::Denied, concat("not harmless: ", verdict.why));
  return HostOrder{kWorkspace, verdict.folder, verdict.argv, verdict.names};
}

int refuse(const Error& error) {
  std::fprintf(stderr, "cove-host: %s\n", error.message().c_str());
  return kNotRun;
}

}  // namespace

int main(int argc, char** argv) {
  Words words = parse(argc, argv);
  Result<HostOrder> order = HostOrder{kWorkspace, words.folder, words.command, words.names};
  if (words.judge) order = judged(words);
  return refuse(order ? run_on_host(*order) : order.error());
}
