#include "spawn/remote_resources.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "runtime/native/network.h"
#include "sys/btrfs.h"

namespace cove::spawn {
namespace {

using spawn::Type;
using wire::Reader;
using wire::Writer;

constexpr std::chrono::seconds kBuildTimeout(60);
// The time between the end of a sandbox and cove-spawn's message about it.
constexpr std::chrono::milliseconds kWordTimeout(500);

Result<ExecGroup> decode_group(Reader& in, std::vector<UniqueFd> fds) {
  ExecGroup group;
  group.name = in.text();
  auto version = static_cast<int>(in.number());
  uint64_t count = in.number();
  if (!in.ok() || count > fds.size()) return fail(Code::Internal, "cove-spawn sent a malformed reply");
  std::vector<unsigned> kinds;
  std::vector<UniqueFd> folders;
  for (uint64_t i = 0; i < count; ++i) {
    kinds.push_back(static_cast<unsigned>(in.number()));
    folders.push_back(std::move(fds[i]));
  }
  for (uint64_t i = count; i < fds.size(); ++i) group.join_fds.push_back(std::move(fds[i]));
  group.group = COVE_TRY(sys::cgroup_from_parts(group.name, version, kinds, std::move(folders)));
  return group;
}

Result<ExecGroup> decode_group(Result<SpawnClient::Answer> answer) {
  if (!answer) return std::unexpected(answer.error());
  Reader in(answer->body);
  return decode_group(in, std::move(answer->fds));
}

}  // namespace

void RemoteResources::Shared::built() {
  std::lock_guard lock(mutex);
  is_built = true;
  changed.notify_all();
}

void RemoteResources::Shared::broken(Error why) {
  std::lock_guard lock(mutex);
  error = std::move(why);
  changed.notify_all();
}

void RemoteResources::Shared::out_of_memory() {
  std::lock_guard lock(mutex);
  out_of_memory_ = true;
  changed.notify_all();
}

void RemoteResources::Shared::take_spare(Result<SpawnClient::Answer> answer) {
  Result<ExecGroup> group = decode_group(std::move(answer));
  std::lock_guard lock(mutex);
  spare = std::move(group);
  asked = false;
  changed.notify_all();
}

RemoteResources::RemoteResources(std::shared_ptr<SpawnClient> spawn, std::string id, Construction construction)
    : spawn_(std::move(spawn)), id_(std::move(id)) {
  shared_->is_built = construction == Construction::Complete;
  spawn_->listen(id_, shared_);
}

RemoteResources::~RemoteResources() {
  spawn_->unlisten(id_);
  if (holds_) spawn_->tell(Type::Release, about());
}

void RemoteResources::take_hold(bool has_groups, std::string usage_folder) {
  holds_ = true;
  has_groups_ = has_groups;
  usage_folder_ = std::move(usage_folder);
}

Result<void> RemoteResources::take_first_spare(Reader& in, std::vector<UniqueFd> fds) {
  if (in.number() == 0) return make_spare(), Result<void>();
  ExecGroup group = COVE_TRY(decode_group(in, std::move(fds)));
  std::lock_guard lock(shared_->mutex);
  shared_->spare = std::move(group);
  return {};
}

Result<void> RemoteResources::ready() {
  std::unique_lock lock(shared_->mutex);
  bool known = shared_->changed.wait_for(lock, kBuildTimeout, [&] { return shared_->is_built || shared_->error; });
  if (!known) return fail(Code::Unavailable, concat("sandbox ", id_, " was not built in time"));
  if (shared_->error) return fail(*shared_->error);
  return {};
}

SandboxEnded RemoteResources::how_it_ended() {
  SandboxEnded end;
  std::unique_lock lock(shared_->mutex);
  // After the build, only a memory watcher sends a message.
  bool expected = !shared_->is_built || !has_groups_;
  if (expected)
    shared_->changed.wait_for(lock, kWordTimeout, [&] { return shared_->error || shared_->out_of_memory_; });
  end.error = shared_->error;
  end.out_of_memory = shared_->out_of_memory_;
  return end;
}

void RemoteResources::make_spare() {
  if (!has_groups_) return;
  {
    std::lock_guard lock(shared_->mutex);
    if (shared_->asked || shared_->spare) return;
    shared_->asked = true;
  }
  spawn_->ask(Type::Spare, about(),
              [shared = shared_](Result<SpawnClient::Answer> answer) { shared->take_spare(std::move(answer)); });
}

Result<ExecGroup> RemoteResources::take_exec_group() {
  make_spare();
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->spare.has_value(); });
  Result<ExecGroup> taken = std::move(*shared_->spare);
  shared_->spare.reset();
  return taken;
}

Result<std::unique_ptr<sys::Cgroup>> RemoteResources::adopt_exec_group(const std::string& name) {
  Result<ExecGroup> group = decode_group(spawn_->ask(Type::AdoptGroup, about().text(name)));
  if (!group) return std::unexpected(group.error());
  return std::move(group->group);
}

Result<void> RemoteResources::kill_exec_group(const std::string& name) {
  COVE_TRY(spawn_->ask(Type::KillGroup, about().text(name)));
  return {};
}

void RemoteResources::retire_exec_group(const std::string& name) {
  if (!name.empty()) spawn_->tell(Type::RetireGroup, about().text(name));
}

Result<void> RemoteResources::freeze() {
  COVE_TRY(spawn_->ask(Type::Freeze, about()));
  return {};
}

Result<void> RemoteResources::thaw() {
  COVE_TRY(spawn_->ask(Type::Thaw, about()));
  return {};
}

Result<void> RemoteResources::set_limits(const Limits& limits) {
  Writer rest = about();
  spawn::encode(rest, limits);
  COVE_TRY(spawn_->ask(Type::SetLimits, rest));
  return {};
}

Result<sys::CgroupUsage> RemoteResources::usage() {
  SpawnClient::Answer answer = COVE_TRY(spawn_->ask(Type::Usage, about()));
  Reader in(answer.body);
  return spawn::decode_usage(in);
}

// Called at the end of every exec, by the thread that moves all output, so cove-spawn is not called if possible.
Result<uint64_t> RemoteResources::layer_usage() {
  if (usage_) return usage_->read();
  if (!usage_folder_.empty()) return sys::btrfs::quota_used(usage_folder_);
  SpawnClient::Answer answer = COVE_TRY(spawn_->ask(Type::LayerUsage, about()));
  return Reader(answer.body).number();
}

void RemoteResources::keep_counters_open() {
  if (usage_ || usage_folder_.empty()) return;
  Result<sys::btrfs::QuotaGauge> gauge = sys::btrfs::QuotaGauge::open(usage_folder_);
  if (gauge) usage_ = std::move(*gauge);
}

Result<NetworkSockets> RemoteResources::open_network() {
  COVE_TRY(ready());
  SpawnClient::Answer answer = COVE_TRY(spawn_->ask(Type::OpenNetwork, about()));
  Reader in(answer.body);
  return native::decode_network(in, std::move(answer.fds));
}

void RemoteResources::kill() { spawn_->tell(Type::Kill, about()); }

// From then on cove-spawn has no handle of it.
Result<void> RemoteResources::destroy(Files files) {
  holds_ = false;
  COVE_TRY(spawn_->ask(Type::Destroy, about().number(files == Files::Remove ? 1 : 0)));
  return {};
}

// Errors are in cove-spawn's log, and the next server sweeps leftovers.
Result<void> RemoteResources::let_go(Files files) {
  if (!spawn_->begin_ending()) return destroy(files);
  holds_ = false;
  spawn_->ask(Type::Destroy, about().number(files == Files::Remove ? 1 : 0),
              [spawn = spawn_.get()](const Result<SpawnClient::Answer>&) { spawn->end_ending(); });
  return {};
}

}  // namespace cove::spawn
