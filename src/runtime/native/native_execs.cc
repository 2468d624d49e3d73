// The execs of a native sandbox: how they are asked for, and how they end.
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/id.h"
#include "base/text.h"
#include "runtime/native/exec_failure.h"
#include "runtime/native/native_sandbox.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

using wire::Reader;
using wire::Type;
using wire::Writer;

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

// Process 1 is about to exit: let it, on this processor, and measure while the builder takes the walls down on another.
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

sys::Cgroup* NativeSandbox::group_of(const RunningExec& exec) const {
  if (exec.group || exec.adopted) return exec.group.get();
  return parts_.group.get();
}

Result<std::vector<UniqueFd>> NativeSandbox::join_fds(RunningExec& exec) {
  if (!parts_.group) return std::vector<UniqueFd>();
  if (parts_.spec.single_exec) return parts_.group->open_join_fds();
  if (!spare_.group) COVE_TRY(make_spare());
  exec.group_name = std::move(spare_.name);
  exec.group = std::move(spare_.group);
  return std::exchange(spare_.join_fds, {});
}

// The group of the next exec, made while this one's program starts.
Result<void> NativeSandbox::make_spare() {
  spare_.name = concat("e-", make_id());
  spare_.group = COVE_TRY(parts_.group->create_child(spare_.name));
  spare_.join_fds = COVE_TRY(spare_.group->open_join_fds());
  return {};
}

Result<void> NativeSandbox::send_exec(const RunningExec& exec, std::vector<int> fds, uint64_t flags) {
  wire::ExecRequest request = request_of(exec.spec);
  request.group = exec.group_name;
  std::string encoded = request.encode();
  if (encoded.size() > wire::kMaxRequest) return fail(Code::Invalid, "the command line and environment are too long");
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
  RunningExec exec{spec, {}, nullptr, false};
  std::vector<UniqueFd> joins = COVE_TRY_NOTE("make the control group of the exec", join_fds(exec));
  std::vector<int> fds;
  Attachment ours;
  sys::Pipe in, out, err;
  uint64_t flags = spec.pty ? wire::kExecPty : uint64_t{0};
  if (!spec.pty) {
    in = COVE_TRY(sys::pipe());
    out = COVE_TRY(sys::pipe());
    err = COVE_TRY(sys::pipe());
    fds = {in.read.get(), out.write.get(), err.write.get()};
    if (parts_.spec.lifetime == Lifetime::Long) {
      flags |= wire::kExecKeepPipes;
      for (const UniqueFd* fd : {&in.write, &out.read, &err.read}) fds.push_back(fd->get());
    }
  }
  for (const UniqueFd& fd : joins) fds.push_back(fd.get());
  COVE_TRY_NOTE("ask process 1", send_exec(exec, fds, flags));
  execs_.emplace(spec.id, std::move(exec));
  // While the program starts.
  if (parts_.group && !parts_.spec.single_exec) {
    remove_retired();
    static_cast<void>(make_spare());
  }
  if (!spec.pty) return Attachment{std::move(in.write), std::move(out.read), std::move(err.read), {}};
  Reply started = COVE_TRY(wait_for_reply(Type::Started, spec.id));
  // A program that cannot be started has no terminal; why, is an event.
  if (started.type == Type::Started && started.fds.size() == 1) ours.terminal = std::move(started.fds[0]);
  return ours;
}

Result<Attachment> NativeSandbox::attach(const std::string& exec_id) {
  COVE_TRY(send(Writer(Type::Attach).text(exec_id)));
  Reply reply = COVE_TRY(wait_for_reply(Type::Attached, exec_id));
  if (reply.fds.empty()) return fail(Code::NotFound, concat("exec ", exec_id, " has no streams to attach to"));
  Attachment ours;
  if (reply.fds.size() == 1) ours.terminal = std::move(reply.fds[0]);
  if (reply.fds.size() == 3) {
    ours.in = std::move(reply.fds[0]);
    ours.out = std::move(reply.fds[1]);
    ours.err = std::move(reply.fds[2]);
  }
  return ours;
}

// Inside, only a layer in memory shows as a file system of its own.
uint64_t NativeSandbox::layer_usage(uint64_t measured_inside) const {
  if (parts_.layer->mount().kind == LayerKind::Memory) return measured_inside;
  return parts_.layer->usage().value_or(0);
}

Result<std::optional<Event>> NativeSandbox::exec_ended(Reader& in) {
  ExecEnded end;
  end.exec_id = in.text();
  end.wait_status = static_cast<int>(in.number());
  uint64_t user_us = in.number();
  uint64_t system_us = in.number();
  uint64_t peak_kib = in.number();
  uint64_t layer = in.number();
  uint64_t disk_read = in.number();
  uint64_t disk_written = in.number();
  auto found = execs_.find(end.exec_id);
  if (!in.done() || found == execs_.end()) return std::optional<Event>();
  if (parts_.spec.ends_with_exec) wait_for_close(parts_.control.get());
  if (sys::Cgroup* group = group_of(found->second)) {
    sys::CgroupUsage counted = COVE_TRY(group->usage());
    end.usage = usage_of(counted);
    end.oom_kills = counted.oom_kills;
    end.refused_forks = counted.pids_refused;
  } else {
    end.usage.cpu_user_ms = user_us / 1000;
    end.usage.cpu_system_ms = system_us / 1000;
    end.usage.memory_peak_bytes = peak_kib * 1024;
  }
  end.usage.disk_written_bytes = layer_usage(layer);
  // A group counts what all of its processes moved, if it counts at all.
  end.usage.io_read_bytes = std::max(end.usage.io_read_bytes, disk_read);
  end.usage.io_write_bytes = std::max(end.usage.io_write_bytes, disk_written);
  retire(found->second);
  execs_.erase(found);
  return Event(std::move(end));
}

Result<std::optional<Event>> NativeSandbox::exec_failed(Reader& in) {
  std::string id = in.text();
  auto stage = static_cast<wire::Stage>(in.number());
  auto errnum = static_cast<int>(in.number());
  auto found = execs_.find(id);
  if (!in.done() || found == execs_.end()) return std::optional<Event>();
  ExecFailed failure = explain_failure(request_of(found->second.spec), stage, errnum);
  retire(found->second);
  execs_.erase(found);
  return Event(std::move(failure));
}

Result<void> NativeSandbox::signal(const std::string& exec_id, int number, SignalReach reach) {
  if (!execs_.contains(exec_id)) return fail(Code::NotFound, concat("no exec ", exec_id, " is running"));
  if (number < 1 || number >= NSIG) return fail(Code::Invalid, concat(number, " is not a signal"));
  auto target = reach == SignalReach::Group ? wire::Target::Group : wire::Target::Process;
  return send(
      Writer(Type::Signal).text(exec_id).number(static_cast<uint64_t>(number)).number(static_cast<uint64_t>(target)));
}

Result<void> NativeSandbox::resize(const std::string& exec_id, WindowSize size) {
  return send(Writer(Type::Resize).text(exec_id).number(size.rows).number(size.columns));
}

Result<void> NativeSandbox::kill(const std::string& exec_id) {
  auto found = execs_.find(exec_id);
  if (found == execs_.end()) return fail(Code::NotFound, concat("no exec ", exec_id, " is running"));
  if (sys::Cgroup* group = group_of(found->second)) return group->kill();
  if (parts_.spec.single_exec && parts_.builder) return kill_sandbox(*parts_.builder), Result<void>();
  return signal(exec_id, SIGKILL, SignalReach::Group);
}

Result<Usage> NativeSandbox::stats() {
  if (!parts_.group) return fail(Code::Unsupported, "statistics of a sandbox need control groups");
  return usage_of(COVE_TRY(parts_.group->usage()));
}

// What an exec left running goes on without it, in its group; a group in which nothing is left is removed by and by.
void NativeSandbox::retire(RunningExec& exec) {
  if (exec.group) retired_.push_back(std::move(exec.group));
}

void NativeSandbox::remove_retired() {
  std::erase_if(retired_, [](const auto& group) { return group->remove().has_value(); });
}

}  // namespace cove::native
