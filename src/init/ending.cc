// Handles the end of programs and reports it.
#include <sched.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "init/channel.h"
#include "init/descendants.h"
#include "init/figures.h"
#include "init/supervisor.h"

namespace cove::init {
namespace {

using wire::Stage;
using wire::Type;
using wire::Writer;

constexpr size_t kRememberedPrograms = 4096;

uint64_t microseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
}

// Disk I/O of an ended process and the children it waited for: the kernel counts in blocks of 512 bytes.
uint64_t block_bytes(long blocks) { return static_cast<uint64_t>(blocks) * 512; }

std::vector<int> numbers(const std::vector<UniqueFd>& fds) {
  std::vector<int> list;
  for (const UniqueFd& fd : fds) list.push_back(fd.get());
  return list;
}

}  // namespace

// Ends that could not be sent are kept and sent later.
void Supervisor::report_ended() {
  unreported_ = false;
  for (const auto& program : programs_) {
    if (!program->ended || program->reported) continue;
    program->reported = control_ && sys::send_message(control_.get(), program->end_message,
                                                      numbers(program->figures.files), MSG_DONTWAIT);
    if (control_ && !program->reported) unreported_ = true;
  }
}

void Supervisor::reap() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) > 0) {
  }
  int status = 0;
  struct rusage usage = {};
  for (pid_t pid; (pid = ::wait4(-1, &status, WNOHANG, &usage)) > 0;) {
    auto program = std::find_if(programs_.begin(), programs_.end(),
                                [&](const auto& candidate) { return candidate->pid == pid && !candidate->ended; });
    if (program != programs_.end()) {
      Usage& used = (*program)->used;
      used.user_us += microseconds(usage.ru_utime);
      used.system_us += microseconds(usage.ru_stime);
      used.peak_kib = std::max(used.peak_kib, static_cast<uint64_t>(usage.ru_maxrss));
      used.disk_read += block_bytes(usage.ru_inblock);
      used.disk_written += block_bytes(usage.ru_oublock);
      program_ended(**program, status);
    }
    for (auto& client : sudo_clients_)
      if (client->pid == pid) sudo_command_ended(*client, status);
    pump_ended(pid);
  }
  // Ended programs are remembered for a later server; the oldest are forgotten first.
  while (programs_.size() > kRememberedPrograms && programs_.front()->ended) programs_.erase(programs_.begin());
}

// A killed process starts no others: when a scan finds no new process, all have ended or are about to. Process groups
// are killed as a whole, because a process may have ended and left a child between scans.
void Supervisor::kill_all_of(const Program& program) const {
  constexpr int kLooks = 100;
  std::set<pid_t> related = {program.pid};
  std::set<pid_t> killed;
  for (int i = 0; i < kLooks; ++i) {
    ::kill(-program.pid, SIGKILL);
    const std::vector<Origin> all = list_origins();
    add_related(all, related);
    for (const auto& client : sudo_clients_)
      if (client->pid > 0 && related.contains(client->peer)) related.insert(client->pid);
    for (const Origin& each : all)
      if (related.contains(each.pid) && related.contains(each.group)) ::kill(-each.group, SIGKILL);
    if (killed.size() == related.size()) return;
    for (pid_t pid : related)
      if (killed.insert(pid).second) ::kill(pid, SIGKILL);
  }
}

void Supervisor::program_ended(Program& program, int status) {
  StartFailure failure;
  const Step step = program.next ? Step::Compile : Step::Run;
  if (::read(program.report.get(), &failure, sizeof failure) == sizeof failure) {
    end_with(program, failure_of(program.id, failure.stage, failure.errnum, step).data());
  } else if (step == Step::Compile) {
    continue_or_end(program, status);
  } else {
    if (!mode_.inner) program.figures = take_figures(program.pid);
    end_when_moved(program, exit_of(program, status, step).data());
  }
  if (mode_.one_exec && program.ended) ::_exit(0);
}

Writer Supervisor::exit_of(const Program& program, int status, Step step) const {
  const Usage& used = program.used;
  Writer message(Type::Exited);
  message.text(program.id)
      .number(static_cast<uint64_t>(status))
      .number(used.user_us)
      .number(used.system_us)
      .number(used.peak_kib)
      .number(mode_.contained ? 0 : layer_bytes())
      .number(used.disk_read)
      .number(used.disk_written)
      .number(program.memory_kills)
      .number(program.figures.left_out);
  if (step == Step::Compile) message.number(1);
  return message;
}

Writer Supervisor::failure_of(const std::string& id, Stage stage, int errnum, Step step) {
  Writer message(Type::Failed);
  message.text(id).number(static_cast<uint64_t>(stage)).number(static_cast<uint64_t>(errnum));
  if (step == Step::Compile) message.number(1);
  return message;
}

void Supervisor::end_with(Program& program, std::string word) {
  program.ended = true;
  program.network = {};
  program.end_message = std::move(word);
  program.reported =
      control_ &&
      sys::send_message(control_.get(), program.end_message, numbers(program.figures.files), MSG_DONTWAIT).has_value();
  unreported_ = unreported_ || (control_ && !program.reported);
  // The woken process may queue behind this one on its CPU, and the rest is not urgent.
  if (program.reported) ::sched_yield();
  program.report.reset();
  program.next.reset();
  program.join_fds.clear();
  program.code.reset();
  program.input_file.reset();
  program.input_pipe.reset();
  if (mode_.inner) groups_.remove(program.id);
  if (!program.script.empty()) ::unlink(std::exchange(program.script, {}).c_str());
}

}  // namespace cove::init
