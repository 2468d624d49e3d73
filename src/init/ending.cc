// How programs end, and who is told.
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

// What a process that has ended, and the children it waited for, moved from and to disks: the kernel counts in blocks
// of 512.
uint64_t block_bytes(long blocks) { return static_cast<uint64_t>(blocks) * 512; }

std::vector<int> numbers(const std::vector<UniqueFd>& fds) {
  std::vector<int> list;
  for (const UniqueFd& fd : fds) list.push_back(fd.get());
  return list;
}

}  // namespace

// A server that does not read for a while misses nothing.
void Supervisor::tell_of_ended() {
  untold_ = false;
  for (const auto& program : programs_) {
    if (!program->ended || program->told) continue;
    program->told = control_ && sys::send_message(control_.get(), program->last_word, numbers(program->figures.files),
                                                  MSG_DONTWAIT);
    if (control_ && !program->told) untold_ = true;
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
      Spent& spent = (*program)->spent;
      spent.user_us += microseconds(usage.ru_utime);
      spent.system_us += microseconds(usage.ru_stime);
      spent.peak_kib = std::max(spent.peak_kib, static_cast<uint64_t>(usage.ru_maxrss));
      spent.disk_read += block_bytes(usage.ru_inblock);
      spent.disk_written += block_bytes(usage.ru_oublock);
      program_ended(**program, status);
    }
    for (auto& petitioner : petitioners_)
      if (petitioner->pid == pid) petition_ended(*petitioner, status);
    pump_ended(pid);
  }
  // Ended programs are remembered for a server that comes later, the oldest forgotten first.
  while (programs_.size() > kRememberedPrograms && programs_.front()->ended) programs_.erase(programs_.begin());
}

// What has been sent a KILL starts nothing more: when a look finds nobody new, all are gone or about to go. Groups are
// killed as a whole, for those that are gone, and have left a child, whenever somebody looks.
void Supervisor::kill_all_of(const Program& program) const {
  constexpr int kLooks = 100;
  std::set<pid_t> kin = {program.pid};
  std::set<pid_t> killed;
  for (int i = 0; i < kLooks; ++i) {
    ::kill(-program.pid, SIGKILL);
    const std::vector<Origin> all = list_origins();
    add_kin(all, kin);
    for (const auto& petitioner : petitioners_)
      if (petitioner->pid > 0 && kin.contains(petitioner->peer)) kin.insert(petitioner->pid);
    for (const Origin& each : all)
      if (kin.contains(each.pid) && kin.contains(each.group)) ::kill(-each.group, SIGKILL);
    if (killed.size() == kin.size()) return;
    for (pid_t pid : kin)
      if (killed.insert(pid).second) ::kill(pid, SIGKILL);
  }
}

void Supervisor::program_ended(Program& program, int status) {
  StartFailure failure;
  const Step step = program.next ? Step::Compile : Step::Run;
  if (::read(program.report.get(), &failure, sizeof failure) == sizeof failure) {
    end_with(program, failure_of(program.id, failure.stage, failure.errnum, step).data());
  } else if (step == Step::Compile) {
    go_on_or_end(program, status);
  } else {
    if (!mode_.inner) program.figures = take_figures(program.pid);
    end_when_moved(program, exit_of(program, status, step).data());
  }
  if (mode_.one_exec && program.ended) ::_exit(0);
}

Writer Supervisor::exit_of(const Program& program, int status, Step step) const {
  const Spent& spent = program.spent;
  Writer message(Type::Exited);
  message.text(program.id)
      .number(static_cast<uint64_t>(status))
      .number(spent.user_us)
      .number(spent.system_us)
      .number(spent.peak_kib)
      .number(mode_.contained ? 0 : layer_bytes())
      .number(spent.disk_read)
      .number(spent.disk_written)
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
  program.last_word = std::move(word);
  program.told =
      control_ &&
      sys::send_message(control_.get(), program.last_word, numbers(program.figures.files), MSG_DONTWAIT).has_value();
  untold_ = untold_ || (control_ && !program.told);
  // Whoever was woken stands behind this process on its CPU, and the rest is not urgent.
  if (program.told) ::sched_yield();
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
