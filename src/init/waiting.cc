// Interpreters that are started before their script is known: the real program with its real command line, but where
// the script will be lies a pipe with a name, and the program waits in it when all it does before is done. Then the
// name goes. When the script comes it is put there as a file, for whoever looks at it later, and written into the pipe.
//
// Where nothing is known at all, a child of process 1 waits that has gone through every step but the last.
//
// An interpreter that waits can be copied, to go on in another sandbox: see copying.h.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "init/copying.h"
#include "init/supervisor.h"

namespace cove::init {
namespace {

constexpr mode_t kScriptMode = 0644;
constexpr uint64_t kCopyMilliseconds = 1000;
#ifndef MFD_EXEC
constexpr unsigned MFD_EXEC = 0x10;
#endif

bool write_whole(int fd, std::string_view data) {
  return ::write(fd, data.data(), data.size()) == static_cast<ssize_t>(data.size());
}

// From Linux 6.3 on whoever wants to execute such a file should say so, and before nobody may.
UniqueFd make_executable_file() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd file(::memfd_create("copy", kFlags | MFD_EXEC));
  return file || errno != EINVAL ? std::move(file) : UniqueFd(::memfd_create("copy", kFlags));
}

}  // namespace

bool Supervisor::put_pipe_for_script(Program& program) const {
  if (::mkfifo(program.script.c_str(), 0600) < 0) return false;
  return mode_.single_id || ::lchown(program.script.c_str(), program.owner.uid, program.owner.gid) == 0;
}

void Supervisor::look_for_waiting() {
  arming_ = false;
  for (const auto& program : programs_) {
    if (program->ended || program->script.empty() || program->code) continue;
    // Succeeds only when somebody has opened the other end.
    program->code.reset(::open(program->script.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (!program->code) {
      arming_ = true;
      continue;
    }
    ::unlink(program->script.c_str());
    tell(wire::Writer(wire::Type::Waiting).text(program->id));
  }
}

bool Supervisor::put_script(Program& program, std::string_view text) const {
  std::string path = std::exchange(program.script, {});
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kScriptMode));
  return file && (mode_.single_id || ::fchown(file.get(), program.owner.uid, program.owner.gid) == 0) &&
         (text.empty() || write_whole(file.get(), text));
}

void Supervisor::handle_code(wire::Reader& in) {
  std::string id = in.text();
  std::string text = in.text();
  Program* program = find(id);
  if (!in.done() || !program || program->ended || !program->code) return failed(id, wire::Stage::Request, EINVAL);
  bool put = program->script.empty() || put_script(*program, text);
  put = put && (text.empty() || write_whole(program->code.get(), text));
  // Never half a script.
  if (!put) {
    int errnum = errno;
    ::kill(program->pid, SIGKILL);
    failed(id, wire::Stage::Request, errnum);
  }
  program->code.reset();
}

void Supervisor::tell_of_copy(const std::string& id, copy::Refusal refusal, int file) {
  tell(wire::Writer(wire::Type::Copied).text(id).number(static_cast<uint64_t>(refusal)),
       refusal == copy::Refusal::None ? std::vector<int>{file} : std::vector<int>{});
}

void Supervisor::handle_copy(wire::Reader& in) {
  CopyOrder order;
  std::string id = in.text();
  order.mark = in.text();
  Program* program = find(id);
  const bool waits = in.done() && program && !program->ended && program->code && !program->script.empty();
  if (!waits) return tell_of_copy(id, copy::Refusal::NotWaiting, -1);
  if (mode_.single_id) return tell_of_copy(id, copy::Refusal::SingleId, -1);
  order.pid = program->pid;
  order.script = program->script;
  UniqueFd file = make_executable_file();
  const pid_t pid = file ? start_copying(order, file.get()) : -1;
  if (pid < 0) return tell_of_copy(id, copy::Refusal::System, -1);
  copying_.push_back({pid, std::move(id), std::move(file), monotonic_milliseconds() + kCopyMilliseconds});
}

// An image's program may keep whoever copies it, or be in a state from which nobody can wake it; whoever asked does not
// wait for that.
void Supervisor::end_late_copying() const {
  for (const Copying& each : copying_)
    if (monotonic_milliseconds() > each.until) ::kill(each.pid, SIGKILL);
}

void Supervisor::copying_ended(pid_t pid, int status) {
  auto found = std::find_if(copying_.begin(), copying_.end(), [&](const Copying& each) { return each.pid == pid; });
  if (found == copying_.end()) return;
  auto refusal = WIFEXITED(status) ? static_cast<copy::Refusal>(WEXITSTATUS(status)) : copy::Refusal::System;
  // It goes to many sandboxes, and none may change what the next one becomes.
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (refusal == copy::Refusal::None && ::fcntl(found->file.get(), F_ADD_SEALS, kSeals) < 0)
    refusal = copy::Refusal::System;
  tell_of_copy(found->id, refusal, found->file.get());
  copying_.erase(found);
}

}  // namespace cove::init
