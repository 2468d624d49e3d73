// Interpreters that are started before their script is known: the real program with its real command line, but a FIFO
// at the path of the script, in which the program blocks after its initialization. Then the FIFO's name is removed.
// When the script arrives it is stored at the path as a file, in case it is read later, and written to the FIFO.
//
// If nothing is known in advance, a child of process 1 waits that has performed every step except the last.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "init/supervisor.h"

namespace cove::init {
namespace {

constexpr mode_t kScriptMode = 0644;

bool write_whole(int fd, std::string_view data) {
  return ::write(fd, data.data(), data.size()) == static_cast<ssize_t>(data.size());
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
    // Succeeds only when the program has opened the other end.
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
  // Written completely or not at all.
  if (!put) {
    int errnum = errno;
    ::kill(program->pid, SIGKILL);
    failed(id, wire::Stage::Request, errnum);
  }
  program->code.reset();
}

}  // namespace cove::init
