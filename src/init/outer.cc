// The part of process 1 whose programs run in another kernel: requests of a server are passed on to process 1 there,
// together with the host's descriptors for the program; its messages carry no descriptors.
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "init/channel.h"
#include "init/figures.h"
#include "init/supervisor.h"

namespace cove::init {
namespace {

using wire::Reader;
using wire::Stage;
using wire::Type;
using wire::Writer;

constexpr int kMessagesPerTurn = 16;

bool is_about_compiler(Reader& in) { return !in.rest().empty() && in.number() == 1; }

}  // namespace

// The terminal is created in the other kernel, where the programs can use it; this socket only carries its bytes.
bool Supervisor::prepare_far_terminal(const wire::ExecRequest& request, Program& program, UniqueFd& far_end) {
  User user;
  if (!find_user(request.user, user)) user.uid = ::getuid();  // the inner process 1 reports the error
  if (!open_terminal(request, user, program, far_end)) return false;
  termios raw = {};
  if (::tcgetattr(far_end.get(), &raw) < 0) return false;
  ::cfmakeraw(&raw);
  return ::tcsetattr(far_end.get(), TCSANOW, &raw) == 0;
}

void Supervisor::pass_on(Forwarded exec) {
  const bool pty = (exec.flags & wire::kExecPty) != 0;
  auto program = std::make_unique<Program>();
  program->id = exec.request.id;
  if (!take_streams(*program, exec.flags, exec.fds)) return failed(program->id, Stage::Request, EBADF);
  if ((exec.flags & wire::kExecFeed) && !pty && !prepare_feeding(*program, exec.fds[0]))
    return failed(program->id, Stage::Request, errno);
  UniqueFd far_end;
  if (pty && !prepare_far_terminal(exec.request, *program, far_end)) return failed(program->id, Stage::Terminal, errno);
  uint64_t flags = exec.flags & ~(wire::kExecKeepPipes | wire::kExecFeed);
  if (pty) flags |= wire::kExecFarTerminal;
  std::vector<int> fds;
  if (exec.file) fds.push_back(exec.file.get());
  if (pty) fds.push_back(far_end.get());
  const size_t streams = pty ? 0 : (flags & wire::kExecNoInput) ? 2 : 3;
  for (size_t i = 0; i < streams; ++i) fds.push_back(exec.fds[i].get());
  std::string message = Writer(Type::Exec).number(flags).data() + exec.text;
  if (!sys::send_message(inner_.get(), message, fds, MSG_DONTWAIT)) return failed(program->id, Stage::Fork, EAGAIN);
  if (pty) tell(Writer(Type::Started).text(program->id).number(0), {program->terminal.get()});
  programs_.push_back(std::move(program));
}

void Supervisor::take_inner_messages() {
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    sys::Message message;
    switch (receive(inner_.get(), message)) {
      case Received::Nothing:
        return;
      case Received::Closed:
        ::_exit(5);  // the sandbox ends with the other kernel
      case Received::Message:
        take_inner_message(message.data);
    }
  }
}

// The messages are untrusted: a program may have compromised that kernel.
void Supervisor::take_inner_message(const std::string& data) {
  Reader in(data);
  Type type = in.type<Type>();
  if (type == Type::Exited) return inner_exited(in);
  std::string id = in.text();
  uint64_t first = in.number();
  Program* program = find(id);
  if (!program || program->ended) return;
  if (type == Type::Started && in.done()) program->inner_pid = static_cast<pid_t>(first);
  if (type != Type::Failed) return;
  uint64_t errnum = in.number();
  const bool compiler = is_about_compiler(in);
  if (!in.done()) return;
  end_with(
      *program,
      failure_of(id, static_cast<Stage>(first), static_cast<int>(errnum), compiler ? Step::Compile : Step::Run).data());
  if (program->ended && mode_.one_exec) ::_exit(0);
}

void Supervisor::inner_exited(Reader& in) {
  std::string id = in.text();
  uint64_t status = in.number(), user_us = in.number(), system_us = in.number(), peak = in.number();
  in.number();  // the layer's size, which is measured on this kernel
  uint64_t read = in.number(), written = in.number(), kills = in.number();
  in.number();  // figures that were left out: they are taken below
  const bool compiler = is_about_compiler(in);
  Program* program = find(id);
  if (!in.done() || !program || program->ended) return;
  if (program->inner_pid > 0) program->figures = take_figures(program->inner_pid);
  Writer word(Type::Exited);
  word.text(id).number(status).number(user_us).number(system_us).number(peak).number(layer_bytes());
  word.number(read).number(written).number(kills).number(program->figures.left_out);
  if (compiler) word.number(1);
  end_with(*program, word.data());
  if (mode_.one_exec) ::_exit(0);
}

}  // namespace cove::init
