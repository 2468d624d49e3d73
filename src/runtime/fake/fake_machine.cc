#include "runtime/fake/fake_machine.h"

#include <sys/eventfd.h>

#include <algorithm>

#include "base/text.h"
#include "runtime/fake/fake_runtime.h"

namespace cove::fake {
namespace {

std::unexpected<Error> no_sandbox(const std::string& id) {
  return fail(Code::NotFound, concat("sandbox ", id, " does not run on the fake machine"));
}

}  // namespace

FakeMachine::FakeMachine(FakeClock& clock) : world_(clock), server_(std::make_shared<FakeServer>()) {
  capabilities_ = {.name = "native",
                   .pause = true,
                   .update_limits = true,
                   .adopt = true,
                   .waiting_scripts = true,
                   .compile_step = true,
                   .network = true};
  jumps_ = clock.on_jump([this] {
    {
      std::lock_guard lock(world_.mutex);
    }
    world_.changed.notify_all();
  });
}

FakeMachine::~FakeMachine() {
  Programs programs;
  std::lock_guard lock(world_.mutex);
  for (auto& [id, box] : boxes_) std::ranges::move(end_all(box), std::back_inserter(programs));
}

std::unique_ptr<Runtime> FakeMachine::runtime() {
  std::lock_guard lock(world_.mutex);
  return std::make_unique<FakeRuntime>(*this, server_);
}

void FakeMachine::cut_off() {
  std::lock_guard lock(world_.mutex);
  server_->cut = true;
  server_ = std::make_shared<FakeServer>();
  for (auto& [id, box] : boxes_) box.channel.reset();
}

// --- what is there ---------------------------------------------------------------------------------------------------

std::vector<std::string> FakeMachine::running() const {
  std::lock_guard lock(world_.mutex);
  std::vector<std::string> ids;
  for (const auto& [id, box] : boxes_)
    if (box.life == FakeBox::Life::Running) ids.push_back(id);
  return ids;
}

std::vector<std::string> FakeMachine::remains() const {
  std::lock_guard lock(world_.mutex);
  std::vector<std::string> ids;
  for (const auto& [id, box] : boxes_) ids.push_back(id);
  return ids;
}

bool FakeMachine::is_frozen(const std::string& id) const {
  std::lock_guard lock(world_.mutex);
  auto found = boxes_.find(id);
  return found != boxes_.end() && found->second.place->frozen;
}

SandboxSpec FakeMachine::spec_of(const std::string& id) const {
  std::lock_guard lock(world_.mutex);
  auto found = boxes_.find(id);
  return found == boxes_.end() ? SandboxSpec() : found->second.spec;
}

size_t FakeMachine::programs_in(const std::string& id) const {
  std::lock_guard lock(world_.mutex);
  auto found = boxes_.find(id);
  if (found == boxes_.end()) return 0;
  return static_cast<size_t>(
      std::ranges::count_if(found->second.programs, [](const auto& each) { return !each.second->ended(); }));
}

std::vector<FakeMachine::Waiting> FakeMachine::waiting() const {
  std::lock_guard lock(world_.mutex);
  std::vector<Waiting> waiting;
  for (const auto& [id, box] : boxes_)
    for (const auto& [exec, program] : box.programs)
      if (program->waits()) waiting.push_back({box.spec, program->first_word()});
  return waiting;
}

size_t FakeMachine::created() const {
  std::lock_guard lock(world_.mutex);
  return created_;
}

size_t FakeMachine::attempts() const {
  std::lock_guard lock(world_.mutex);
  return attempts_;
}

size_t FakeMachine::held() const {
  std::lock_guard lock(world_.mutex);
  return held_;
}

size_t FakeMachine::networks_opened(const std::string& id) const {
  std::lock_guard lock(world_.mutex);
  auto found = networks_opened_.find(id);
  return found == networks_opened_.end() ? 0 : found->second;
}

// --- what it can do, and what goes wrong
// -------------------------------------------------------------------------------

void FakeMachine::set_capabilities(Capabilities capabilities) {
  std::lock_guard lock(world_.mutex);
  capabilities_ = std::move(capabilities);
}

void FakeMachine::refuse_creation(std::optional<Error> error) {
  std::lock_guard lock(world_.mutex);
  creation_error_ = std::move(error);
}

void FakeMachine::refuse_adoption(const std::string& id) {
  std::lock_guard lock(world_.mutex);
  not_adoptable_.push_back(id);
}

void FakeMachine::refuse_network(std::optional<Error> error) {
  std::lock_guard lock(world_.mutex);
  network_error_ = std::move(error);
}

void FakeMachine::refuse_destruction(std::optional<Error> error) {
  std::lock_guard lock(world_.mutex);
  destruction_error_ = std::move(error);
}

void FakeMachine::hold_creation() {
  std::lock_guard lock(world_.mutex);
  holding_ = true;
}

void FakeMachine::let_go() {
  std::lock_guard lock(world_.mutex);
  holding_ = false;
  world_.changed.notify_all();
}

void FakeMachine::end_process_one(const std::string& id) { end(id, SandboxEnded{}); }
void FakeMachine::run_out_of_memory(const std::string& id) { end(id, SandboxEnded{.out_of_memory = true}); }

void FakeMachine::set_lost(bool lost) {
  std::lock_guard lock(world_.mutex);
  lost_ = lost;
}

void FakeMachine::end(const std::string& id, SandboxEnded how) {
  Programs programs;
  std::lock_guard lock(world_.mutex);
  FakeBox* box = find(id);
  if (box == nullptr || box->life != FakeBox::Life::Running) return;
  programs = end_all(*box);
  box->life = FakeBox::Life::Dead;
  tell(id, std::move(how));
}

// --- for its runtimes ------------------------------------------------------------------------------------------------

FakeBox* FakeMachine::find(const std::string& id) {
  auto found = boxes_.find(id);
  return found == boxes_.end() ? nullptr : &found->second;
}

Result<FakeBox*> FakeMachine::find_running(const std::string& id) {
  FakeBox* box = find(id);
  if (box == nullptr || box->life != FakeBox::Life::Running) return no_sandbox(id);
  return box;
}

void FakeMachine::tell(const std::string& id, Event event) {
  FakeBox* box = find(id);
  if (box != nullptr && box->channel) box->channel->push(std::move(event));
}

FakeMachine::Programs FakeMachine::end_all(FakeBox& box) {
  Programs programs;
  for (auto& [id, program] : box.programs) {
    program->vanish();
    programs.push_back(std::move(program));
  }
  box.programs.clear();
  box.place->frozen = false;
  return programs;
}

Result<void> FakeMachine::check_creation(const SandboxSpec& spec) {
  if (creation_error_) return fail(*creation_error_);
  const FakeBox* there = find(spec.id);
  const bool has_files = there != nullptr && there->life != FakeBox::Life::HalfMade;
  if (there != nullptr && there->life == FakeBox::Life::Running)
    return fail(Code::Exists, concat("sandbox ", spec.id, " runs already"));
  if (spec.restarted && !has_files) return fail(Code::NotFound, concat("the files of sandbox ", spec.id, " are gone"));
  if (!spec.restarted && there != nullptr)
    return fail(Code::Exists, concat("there is something left of a sandbox ", spec.id));
  return {};
}

Result<std::shared_ptr<FakeChannel>> FakeMachine::create(const SandboxSpec& spec,
                                                         const std::shared_ptr<FakeServer>& server) {
  std::unique_lock lock(world_.mutex);
  ++attempts_;
  COVE_TRY(check_creation(spec));
  // Its files, where it has run before.
  std::shared_ptr<FakePlace> place = spec.restarted ? find(spec.id)->place : std::make_shared<FakePlace>();
  boxes_[spec.id] = FakeBox{.spec = spec, .place = std::move(place)};
  ++held_;
  world_.changed.wait(lock, [&] { return !holding_; });
  --held_;
  if (server->cut) return fail(Code::Unavailable, "the server was killed");
  FakeBox* box = find(spec.id);
  if (box == nullptr) return no_sandbox(spec.id);
  box->life = FakeBox::Life::Running;
  box->channel = std::make_shared<FakeChannel>(server);
  ++created_;
  return box->channel;
}

Result<std::shared_ptr<FakeChannel>> FakeMachine::adopt(const std::string& id,
                                                        const std::shared_ptr<FakeServer>& server) {
  std::lock_guard lock(world_.mutex);
  if (lost_) return fail(Code::Unavailable, "what makes the fake machine's sandboxes has died");
  FakeBox* box = COVE_TRY(find_running(id));
  if (std::ranges::find(not_adoptable_, id) != not_adoptable_.end())
    return fail(Code::Unavailable, concat("process 1 of sandbox ", id, " does not answer"));
  box->channel = std::make_shared<FakeChannel>(server);
  for (const auto& [exec, program] : box->programs)
    if (program->end()) box->channel->push(*program->end());
  return box->channel;
}

Result<void> FakeMachine::destroy(const std::string& id, Files files) {
  Programs programs;
  std::lock_guard lock(world_.mutex);
  if (destruction_error_) return fail(*destruction_error_);
  FakeBox* box = find(id);
  if (box == nullptr) return {};
  programs = end_all(*box);
  box->life = FakeBox::Life::Stopped;
  box->channel.reset();
  if (files == Files::Remove) boxes_.erase(id);
  return {};
}

Result<void> FakeMachine::sweep(const std::vector<std::string>& known) {
  for (const std::string& id : remains())
    if (std::ranges::find(known, id) == known.end()) COVE_TRY(destroy(id, Files::Remove));
  return {};
}

Result<Attachment> FakeMachine::exec(const std::string& id, const ExecSpec& spec) {
  FakeBox* box = COVE_TRY(find_running(id));
  if (spec.pty) return fail(Code::Unsupported, "the fake machine has no terminals");
  if (box->programs.contains(spec.id)) return fail(Code::Exists, concat("exec ", spec.id, " exists already"));
  auto told = [this, id](Event event) { tell(id, std::move(event)); };
  std::shared_ptr<FakeProgram> program = COVE_TRY(FakeProgram::start(world_, box->place, spec, told));
  Attachment streams = COVE_TRY(program->streams());
  box->programs.emplace(spec.id, std::move(program));
  return streams;
}

// Sockets that belong to no sandbox: a test says what is sent there.
Result<NetworkSockets> FakeMachine::open_network(const std::string& id) {
  ++networks_opened_[id];
  if (network_error_) return fail(*network_error_);
  NetworkSockets sockets;
  for (size_t i = NetworkSockets::kTcp4; i < NetworkSockets::kCount; ++i) {
    sockets.fds[i].reset(::eventfd(0, EFD_CLOEXEC));
    if (!sockets.fds[i]) return fail_errno("eventfd");
  }
  return sockets;
}

}  // namespace cove::fake
