#include "runtime/fake/fake_sandbox.h"

#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "model/limit_fields.h"
#include "runtime/fake/fake_view.h"

namespace cove::fake {
namespace {

EnforcedLimits enforced_limits(const Limits& limits) {
  EnforcedLimits enforced;
  auto tell = [&](const LimitField& field, const auto& limit) {
    if (field.of != LimitOf::Exec && to_number(limit.value) > 0)
      enforced[std::string(field.name)] = {limit_text(field, limit.value), "fake"};
  };
  visit_limits(tell, limits);
  return enforced;
}

}  // namespace

FakeSandbox::FakeSandbox(FakeMachine& machine, const SandboxSpec& spec, std::shared_ptr<FakeChannel> channel,
                         Adopted adopted)
    : machine_(machine),
      id_(spec.id),
      lifetime_(spec.lifetime),
      channel_(std::move(channel)),
      enforced_(enforced_limits(spec.limits)) {
  if (adopted == Adopted::No) return;
  std::lock_guard lock(machine_.world_.mutex);
  if (const FakeBox* box = machine_.find(id_))
    for (const auto& [exec, program] : box->programs) adopted_.push_back(exec);
}

FakeSandbox::~FakeSandbox() {
  if (lifetime_ == Lifetime::OneRun) static_cast<void>(destroy(Files::Remove));
}

Result<FakeBox*> FakeSandbox::box() const {
  if (channel_->cut()) return fail(Code::Unavailable, "the server was killed");
  return machine_.find_running(id_);
}

Result<FakeProgram*> FakeSandbox::program(const std::string& exec_id) const {
  FakeBox* there = COVE_TRY(box());
  auto found = there->programs.find(exec_id);
  if (found == there->programs.end()) return fail(Code::NotFound, concat("no exec ", exec_id, " is running"));
  return found->second.get();
}

// --- execs -----------------------------------------------------------------------------------------------------------

Result<Attachment> FakeSandbox::exec(const ExecSpec& spec) {
  std::lock_guard lock(machine_.world_.mutex);
  COVE_TRY(box());
  return machine_.exec(id_, spec);
}

Result<Attachment> FakeSandbox::attach(const std::string& exec_id) {
  std::lock_guard lock(machine_.world_.mutex);
  return COVE_TRY(program(exec_id))->streams();
}

Result<void> FakeSandbox::close_input(const std::string& exec_id) {
  std::lock_guard lock(machine_.world_.mutex);
  COVE_TRY(program(exec_id))->close_input();
  return {};
}

Result<void> FakeSandbox::give_script(const std::string& exec_id, std::string_view text) {
  std::lock_guard lock(machine_.world_.mutex);
  COVE_TRY(program(exec_id))->give_script(text);
  return {};
}

Result<void> FakeSandbox::give_command(const ExecSpec& spec) {
  std::lock_guard lock(machine_.world_.mutex);
  COVE_TRY(program(spec.id))->give(spec);
  return {};
}

void FakeSandbox::forget(const std::string& exec_id) {
  std::shared_ptr<FakeProgram> gone;  // without the lock
  std::lock_guard lock(machine_.world_.mutex);
  Result<FakeBox*> there = box();
  if (!there) return;
  auto found = (*there)->programs.find(exec_id);
  if (found == (*there)->programs.end() || !found->second->ended()) return;
  gone = std::move(found->second);
  (*there)->programs.erase(found);
}

Result<void> FakeSandbox::signal(const std::string& exec_id, int number, SignalReach) {
  if (number < 1 || number >= NSIG) return fail(Code::Invalid, concat(number, " is not a signal"));
  std::lock_guard lock(machine_.world_.mutex);
  FakeProgram* found = COVE_TRY(program(exec_id));
  if (found->ended()) return fail(Code::NotFound, concat("no exec ", exec_id, " is running"));
  found->signal(number);
  return {};
}

Result<void> FakeSandbox::resize(const std::string&, WindowSize) {
  return fail(Code::Unsupported, "the fake machine has no terminals");
}

Result<void> FakeSandbox::kill(const std::string& exec_id) { return signal(exec_id, SIGKILL, SignalReach::Group); }

// --- the sandbox itself ----------------------------------------------------------------------------------------------

Result<void> FakeSandbox::freeze(bool frozen) {
  if (!machine_.capabilities_.pause) return fail(Code::Unsupported, "this machine cannot pause sandboxes");
  COVE_TRY(box())->place->frozen = frozen;
  machine_.world_.changed.notify_all();
  return {};
}

Result<void> FakeSandbox::pause() {
  std::lock_guard lock(machine_.world_.mutex);
  return freeze(true);
}

Result<void> FakeSandbox::resume() {
  std::lock_guard lock(machine_.world_.mutex);
  return freeze(false);
}

Result<void> FakeSandbox::update_limits(const Limits& limits) {
  std::lock_guard lock(machine_.world_.mutex);
  take_named(COVE_TRY(box())->spec.limits, limits);
  return {};
}

Result<Stats> FakeSandbox::stats() {
  std::lock_guard lock(machine_.world_.mutex);
  FakeBox* there = COVE_TRY(box());
  Stats stats;
  stats.processes = 1;
  for (const auto& [exec, program] : there->programs) stats.processes += program->ended() ? 0 : 1;
  return stats;
}

Result<std::unique_ptr<View>> FakeSandbox::open_view(const std::string&) {
  std::lock_guard lock(machine_.world_.mutex);
  return std::make_unique<FakeView>(machine_.world_, COVE_TRY(box())->place);
}

Result<UniqueFd> FakeSandbox::dial(uint16_t, Loopback) {
  return fail(Code::Unsupported, "the fake machine has no network");
}

Result<std::optional<Event>> FakeSandbox::next_event() {
  std::lock_guard lock(machine_.world_.mutex);
  if (channel_->cut()) return std::optional<Event>();
  return channel_->pop();
}

bool FakeSandbox::quiet() const {
  std::lock_guard lock(machine_.world_.mutex);
  Result<FakeBox*> there = box();
  return there && std::ranges::all_of((*there)->programs, [](const auto& each) { return each.second->ended(); });
}

Result<void> FakeSandbox::destroy(Files files) {
  {
    std::lock_guard lock(machine_.world_.mutex);
    if (channel_->cut()) return {};
  }
  return machine_.destroy(id_, files);
}

Result<NetworkSockets> FakeSandbox::open_network() {
  std::lock_guard lock(machine_.world_.mutex);
  COVE_TRY(box());
  return machine_.open_network(id_);
}

}  // namespace cove::fake
