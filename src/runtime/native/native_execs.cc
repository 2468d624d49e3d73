// The execs of a native sandbox: how they are started, and how they end.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/id.h"
#include "base/text.h"
#include "runtime/native/exec_failure.h"
#include "runtime/native/figures.h"
#include "runtime/native/native_sandbox.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace cove::native {

Usage usage_of(const sys::CgroupUsage& counted) {
  Usage usage;
  usage.cpu_user_ms = counted.cpu_user_us / 1000;
  usage.cpu_system_ms = counted.cpu_system_us / 1000;
  usage.memory_peak_bytes = counted.memory_peak_bytes;
  usage.processes_peak = counted.pids_peak;
  usage.io_read_bytes = counted.io_read_bytes;
  usage.io_write_bytes = counted.io_write_bytes;
  return usage;
}

namespace {

using wire::Reader;
using wire::Type;
using wire::Writer;

// Whether so little space is left that writes fail: a quota refuses before its last block.
bool is_full(uint64_t used, uint64_t limit) { return limit > 0 && used >= limit - limit / 32; }

// The seals of a memory file that can no longer be changed.
constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
constexpr int kLargePipe = 1 << 20;  // the largest size that the kernel allows unprivileged users

uint64_t attached_flags(const std::string& body) {
  Reader in(body);
  in.text();
  return in.number();
}

// Programs inside also open it by name, as /dev/stdout, although its owner is a user outside.
Result<sys::Pipe> make_stream() {
  sys::Pipe pipe = COVE_TRY(sys::pipe());
  if (::fchmod(pipe.read.get(), 0666) < 0) return fail_errno("create a pipe for an exec");
  return pipe;
}

// The read end of a pipe that holds all of the input, or a memory file from which process 1 feeds it, so that the
// caller does not have to stay to write it.
Result<UniqueFd> make_whole_input(std::string_view data, uint64_t& flags) {
  sys::Pipe pipe = COVE_TRY(make_stream());
  int room = ::fcntl(pipe.write.get(), F_GETPIPE_SZ);
  if (room > 0 && data.size() > static_cast<size_t>(room) && data.size() <= kLargePipe)
    room = ::fcntl(pipe.write.get(), F_SETPIPE_SZ, kLargePipe);
  if (room > 0 && data.size() <= static_cast<size_t>(room)) {
    COVE_TRY(sys::write_all(pipe.write.get(), data));
    return std::move(pipe.read);
  }
  flags |= wire::kExecFeed;
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_errno("memfd_create");
  COVE_TRY(sys::write_all(file.get(), data));
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) < 0 || ::lseek(file.get(), 0, SEEK_SET) < 0)
    return fail_errno("prepare the input of an exec");
  return file;
}

void wait_for_close(int channel) {
  pollfd polled = {channel, POLLIN, 0};
  ::poll(&polled, 1, -1);
}

}  // namespace

wire::ExecRequest NativeSandbox::request_of(const ExecSpec& spec) const {
  wire::ExecRequest request;
  request.id = spec.id;
  request.user = spec.user.empty() ? parts_.spec.user : spec.user;
  request.cwd = spec.cwd;
  if (request.cwd.empty() && parts_.spec.workspace.access != Access::None) request.cwd = kWorkspacePath;
  request.argv = spec.argv;
  request.compile = spec.compile;
  for (const Environment* env : {&parts_.spec.env, &spec.env})
    for (const auto& [name, value] : *env) {
      std::erase_if(request.env, [&](const std::string& entry) { return entry.starts_with(name + "="); });
      request.env.push_back(concat(name, "=", value));
    }
  request.rlimits = parts_.holding.rlimits;
  if (spec.pty) {
    request.rows = spec.pty->rows;
    request.columns = spec.pty->columns;
  }
  return request;
}

Result<std::vector<UniqueFd>> NativeSandbox::join_fds(RunningExec& exec) {
  if (!parts_.resources->has_groups()) return std::vector<UniqueFd>();
  ExecGroup taken = COVE_TRY(parts_.resources->take_exec_group());
  exec.group_name = std::move(taken.name);
  exec.group = std::move(taken.group);
  return std::move(taken.join_fds);
}

Result<void> NativeSandbox::send_exec(const RunningExec& exec, std::vector<int> fds, uint64_t flags) {
  wire::ExecRequest request = request_of(exec.spec);
  request.group = exec.group_name;
  std::string encoded = request.encode();
  if (encoded.size() > wire::kMaxRequest)
    return fail(Code::Invalid, "the command line and the environment are too long");
  if (encoded.size() + 64 < wire::kMaxMessage)
    return sys::send_message(parts_.control.get(), Writer(Type::Exec).number(flags).data() + encoded, fds);
  UniqueFd memfd(::memfd_create("exec", MFD_CLOEXEC));
  if (!memfd) return fail_errno("memfd_create");
  COVE_TRY(sys::write_all(memfd.get(), encoded));
  fds.insert(fds.begin(), memfd.get());
  return send(Writer(Type::Exec).number(flags | wire::kExecInMemfd), fds);
}

Result<Attachment> NativeSandbox::exec(const ExecSpec& spec) {
  if (execs_.contains(spec.id)) return fail(Code::Exists, concat("exec ", spec.id, " exists already"));
  RunningExec exec{spec, {}, nullptr};
  exec.spec.whole_input.reset();
  std::vector<UniqueFd> joins = COVE_TRY_NOTE("create the control group of the exec", join_fds(exec));
  std::vector<int> fds;
  Attachment ours;
  sys::Pipe in, out, err;
  uint64_t flags = spec.pty ? wire::kExecPty : uint64_t{0};
  if (spec.no_network) flags |= wire::kExecOwnNetwork;
  if (!spec.pty) {
    if (spec.whole_input)
      in.read = COVE_TRY(make_whole_input(*spec.whole_input, flags));
    else if (spec.input)
      in = COVE_TRY(make_stream());
    out = COVE_TRY(make_stream());
    err = COVE_TRY(make_stream());
    flags |= in.read ? 0 : wire::kExecNoInput;
    flags |= spec.script_follows ? wire::kExecWaits : 0;
    flags |= spec.command_follows ? wire::kExecCommandLater : 0;
    for (const sys::Pipe* pipe : {&in, &out, &err})
      if (pipe->read) fds.push_back(pipe == &in ? pipe->read.get() : pipe->write.get());
    if (parts_.spec.lifetime == Lifetime::Long) {
      flags |= wire::kExecKeepPipes;
      for (const sys::Pipe* pipe : {&in, &out, &err})
        if (pipe->read) fds.push_back(pipe == &in && in.write ? in.write.get() : pipe->read.get());
    }
  }
  for (const UniqueFd& fd : joins) fds.push_back(fd.get());
  COVE_TRY_NOTE("send the exec to process 1", send_exec(exec, fds, flags));
  // Done now, so that it does not have to be done when the exec ends.
  const bool waits = spec.script_follows || spec.command_follows;
  if (exec.group && waits) {
    exec.group->keep_counters_open();
    parts_.resources->keep_counters_open();
  }
  if (waits) exec.ends = {std::move(out.write), std::move(err.write)};
  // Process 1 expects an end to keep, but there is none.
  if (spec.whole_input && parts_.spec.lifetime == Lifetime::Long) static_cast<void>(close_input(spec.id));
  execs_.emplace(spec.id, std::move(exec));
  // Prepared while the program starts; not for the first exec, which in many sandboxes is the only one.
  if (std::exchange(used_, true)) parts_.resources->make_spare();
  if (!spec.pty) return Attachment{std::move(in.write), std::move(out.read), std::move(err.read), {}};
  Reply started = COVE_TRY(wait_for_reply(Type::Started, spec.id));
  // A program that cannot be started has no terminal; the reason arrives as an event.
  if (started.type == Type::Started && started.fds.size() == 1) ours.terminal = std::move(started.fds[0]);
  return ours;
}

Result<Attachment> NativeSandbox::attach(const std::string& exec_id) {
  COVE_TRY(send(Writer(Type::Attach).text(exec_id)));
  Reply reply = COVE_TRY(wait_for_reply(Type::Attached, exec_id));
  if (reply.fds.empty()) return fail(Code::NotFound, concat("exec ", exec_id, " has no streams to attach to"));
  uint64_t flags = attached_flags(reply.body);
  Attachment ours;
  if (flags & wire::kExecPty) return Attachment{{}, {}, {}, std::move(reply.fds[0])};
  size_t next = 0;
  if (!(flags & wire::kExecNoInput)) ours.in = std::move(reply.fds[next++]);
  if (reply.fds.size() != next + 2) return fail(Code::Internal, "process 1 sent a malformed reply");
  ours.out = std::move(reply.fds[next]);
  ours.err = std::move(reply.fds[next + 1]);
  return ours;
}

Result<void> NativeSandbox::close_input(const std::string& exec_id) {
  return send(Writer(Type::CloseInput).text(exec_id));
}

Result<void> NativeSandbox::give_script(const std::string& exec_id, std::string_view text) {
  if (text.size() > wire::kMaxCode) return fail(Code::Invalid, "the script is too long for a prepared interpreter");
  return send(Writer(Type::Code).text(exec_id).text(text));
}

Result<void> NativeSandbox::give_command(const ExecSpec& spec) {
  auto found = execs_.find(spec.id);
  if (found == execs_.end()) return fail(Code::NotFound, concat("exec ", spec.id, " is not waiting for its command"));
  wire::ExecRequest request = request_of(spec);
  std::string command = Writer().number(spec.input ? 1 : 0).texts(request.argv).texts(request.env).data();
  if (command.size() > wire::kMaxCode) return fail(Code::Invalid, "the command is too long for a prepared exec");
  found->second.spec = spec;
  found->second.spec.whole_input.reset();
  return send(Writer(Type::Code).text(spec.id).text(command));
}

void NativeSandbox::forget(const std::string& exec_id) {
  static_cast<void>(send(Writer(Type::Forget).text(exec_id)));
  auto ended = ended_groups_.find(exec_id);
  if (ended == ended_groups_.end()) return;
  parts_.resources->retire_exec_group(ended->second.name);
  ended_groups_.erase(ended);
}

// Inside, only a layer in memory is a file system of its own.
uint64_t NativeSandbox::layer_usage(uint64_t measured_inside) const {
  auto disk = enforced().find("disk");
  if (disk != enforced().end() && disk->second.enforced_by == "tmpfs") return measured_inside;
  return parts_.resources->layer_usage().value_or(measured_inside);
}

Result<std::optional<Event>> NativeSandbox::exec_ended(Reader& in, const std::vector<UniqueFd>& figures) {
  ExecEnded end;
  end.exec_id = in.text();
  end.wait_status = static_cast<int>(in.number());
  uint64_t user_us = in.number();
  uint64_t system_us = in.number();
  uint64_t peak_kib = in.number();
  uint64_t layer = in.number();
  uint64_t disk_read = in.number();
  uint64_t disk_written = in.number();
  end.oom_kills = in.number();
  end.figures_left_out = in.number();
  if (!in.rest().empty() && in.number() == 1) end.phase = Phase::Compile;
  auto found = execs_.find(end.exec_id);
  if (!in.done() || found == execs_.end()) return std::optional<Event>();
  end.figures = read_figures(figures);
  end.figures_left_out += figures.size() - end.figures.size();
  if (found->second.group) {
    if (found->second.killed) static_cast<void>(parts_.resources->kill_exec_group(found->second.group_name));
    sys::CgroupUsage counted = COVE_TRY(found->second.group->usage());
    const bool alone = found->second.group->has(sys::Controller::Pids) && counted.pids == 0;
    if (parts_.spec.ends_with_exec && !alone) {
      // Processes it left behind end with process 1, which is about to end.
      wait_for_close(parts_.control.get());
      counted = COVE_TRY(found->second.group->usage());
    }
    end.usage = usage_of(counted);
    end.oom_kills = counted.oom_kills;
    end.refused_forks = counted.pids_refused;
    left_behind_ = left_behind_ || counted.pids > 0;
  } else {
    left_behind_ = true;  // possibly
    end.usage.cpu_user_ms = user_us / 1000;
    end.usage.cpu_system_ms = system_us / 1000;
    end.usage.memory_peak_bytes = peak_kib * 1024;
    end.usage.processes_peak = 1;  // at least
  }
  uint64_t before = std::exchange(layer_bytes_, layer_usage(layer));
  end.usage.disk_written_bytes = layer_bytes_ - std::min(before, layer_bytes_);
  // If the layer's size is unknown: what the program itself, and the children it waited for, have written.
  if (layer_bytes_ == 0) end.usage.disk_written_bytes = disk_written;
  // If the group counts I/O, it counts that of all its processes.
  end.usage.io_read_bytes = std::max(end.usage.io_read_bytes, disk_read);
  end.usage.io_write_bytes = std::max(end.usage.io_write_bytes, disk_written);
  io_read_bytes_ += end.usage.io_read_bytes;
  io_write_bytes_ += end.usage.io_write_bytes;
  end.full_disk = full_disk();
  // Later, so that the caller that waits for the end is notified first.
  if (parts_.spec.lifetime == Lifetime::Long)
    ended_groups_[end.exec_id] = {found->second.group_name, std::move(found->second.group)};
  else
    parts_.resources->retire_exec_group(found->second.group_name);
  execs_.erase(found);
  return Event(std::move(end));
}

// The disk limit, if it is enforced and almost used up.
uint64_t NativeSandbox::full_disk() const {
  auto held = parts_.holding.limits.find("disk");
  if (held == parts_.holding.limits.end() || held->second.enforced_by == "nothing") return 0;
  const uint64_t limit = parts_.spec.limits.disk.value;
  return is_full(layer_bytes_, limit) ? limit : 0;
}

Result<std::optional<Event>> NativeSandbox::exec_failed(Reader& in) {
  std::string id = in.text();
  auto stage = static_cast<wire::Stage>(in.number());
  auto errnum = static_cast<int>(in.number());
  const Phase phase = !in.rest().empty() && in.number() == 1 ? Phase::Compile : Phase::Run;
  auto found = execs_.find(id);
  if (!in.done() || found == execs_.end()) return std::optional<Event>();
  wire::ExecRequest request = request_of(found->second.spec);
  if (phase == Phase::Compile) request.argv = request.compile;
  ExecFailed failure = explain_failure(request, stage, errnum);
  failure.phase = phase;
  parts_.resources->retire_exec_group(found->second.group_name);
  execs_.erase(found);
  return Event(std::move(failure));
}

Result<void> NativeSandbox::signal(const std::string& exec_id, int number, SignalReach reach) {
  if (!execs_.contains(exec_id)) return fail(Code::NotFound, concat("exec ", exec_id, " is not running"));
  if (number < 1 || number >= NSIG) return fail(Code::Invalid, concat("invalid signal ", number));
  auto target = reach == SignalReach::Group ? wire::Target::Group : wire::Target::Process;
  return send(
      Writer(Type::Signal).text(exec_id).number(static_cast<uint64_t>(number)).number(static_cast<uint64_t>(target)));
}

Result<void> NativeSandbox::resize(const std::string& exec_id, WindowSize size) {
  return send(Writer(Type::Resize).text(exec_id).number(size.rows).number(size.columns));
}

Result<void> NativeSandbox::kill(const std::string& exec_id) {
  auto found = execs_.find(exec_id);
  if (found == execs_.end()) return fail(Code::NotFound, concat("exec ", exec_id, " is not running"));
  found->second.killed = true;
  if (found->second.group) {
    // A program that is just being started is not in its group yet: process 1, which handles this afterwards, kills it.
    // Processes it may have started by then are killed when its end is known.
    if (!parts_.spec.single_exec || !found->second.spec.compile.empty())
      static_cast<void>(signal(exec_id, SIGKILL, SignalReach::Process));
    return parts_.resources->kill_exec_group(found->second.group_name);
  }
  if (parts_.spec.single_exec) return parts_.resources->kill(), Result<void>();
  return send(
      Writer(Type::Signal).text(exec_id).number(SIGKILL).number(static_cast<uint64_t>(wire::Target::Everything)));
}

Result<void> NativeSandbox::update_limits(const Limits& limits) {
  COVE_TRY(parts_.resources->set_limits(limits));
  change_rlimits(parts_.holding, limits);
  return {};
}

Result<Stats> NativeSandbox::stats() {
  sys::CgroupUsage counted = COVE_TRY(parts_.resources->usage());
  // On cgroup v1, I/O is counted only in groups with a limit of their own.
  counted.io_read_bytes = std::max(counted.io_read_bytes, io_read_bytes_);
  counted.io_write_bytes = std::max(counted.io_write_bytes, io_write_bytes_);
  return Stats{usage_of(counted), counted.memory_bytes, counted.pids, layer_usage(layer_bytes_)};
}

}  // namespace cove::native
