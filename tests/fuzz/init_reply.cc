// Messages of a process 1 that has been taken over, to the server that adopts its sandbox and runs programs in it.
#include "messages.h"
#include "runtime/native/native_sandbox.h"

namespace {

using namespace cove;
using namespace cove::fuzz;

constexpr uint8_t kAdopts = 1, kEndsWithExec = 2, kLives = 4;
constexpr size_t kMostEvents = 2 * kMostMessages;

// Holds nothing.
class NoHand : public native::SandboxResources {
 public:
  Result<void> ready() override { return {}; }
  SandboxEnded how_it_ended() override { return {}; }
  bool has_groups() const override { return false; }
  Result<native::ExecGroup> take_exec_group() override { return nothing(); }
  void make_spare() override {}
  Result<std::unique_ptr<sys::Cgroup>> adopt_exec_group(const std::string&) override { return nothing(); }
  Result<void> kill_exec_group(const std::string&) override { return {}; }
  void retire_exec_group(const std::string&) override {}
  Result<void> freeze() override { return {}; }
  Result<void> thaw() override { return {}; }
  Result<void> set_limits(const Limits&) override { return {}; }
  Result<sys::CgroupUsage> usage() override { return sys::CgroupUsage(); }
  Result<uint64_t> layer_usage() override { return nothing(); }
  Result<NetworkSockets> open_network() override { return nothing(); }
  void kill() override {}
  Result<void> destroy(Files) override { return {}; }

 private:
  static std::unexpected<Error> nothing() { return fail(Code::Unsupported, "there is nothing here"); }
};

std::unique_ptr<native::NativeSandbox> make_sandbox(UniqueFd control, uint8_t kind) {
  native::NativeSandbox::Parts parts;
  parts.spec.ends_with_exec = (kind & kEndsWithExec) != 0;
  parts.spec.lifetime = (kind & kLives) != 0 ? Lifetime::Long : Lifetime::OneRun;
  parts.resources = std::make_unique<NoHand>();
  parts.control = std::move(control);
  auto sandbox = native::NativeSandbox::create(std::move(parts));
  require(sandbox.has_value());
  return std::move(*sandbox);
}

ExecSpec program(const std::string& id) {
  ExecSpec spec;
  spec.id = id;
  spec.argv = {"true"};
  return spec;
}

void use(native::NativeSandbox& sandbox) {
  static_cast<void>(sandbox.exec(program("a")));
  ExecSpec on_terminal = program("t");
  on_terminal.pty = WindowSize();
  static_cast<void>(sandbox.exec(on_terminal));
  static_cast<void>(sandbox.dial(80, Loopback::Four));
  if (auto attached = sandbox.attach("a")) require(attached->terminal || (attached->out && attached->err));
  for (const std::string& id : sandbox.adopted_execs()) static_cast<void>(sandbox.signal(id, 15, SignalReach::Group));
}

// Every program ends once.
void take_events(native::NativeSandbox& sandbox) {
  bool ended = false;
  for (size_t i = 0; i < kMostEvents && !ended; ++i) {
    auto event = sandbox.next_event();
    require(event.has_value());
    if (!*event) continue;
    if (auto* end = std::get_if<ExecEnded>(&**event)) require(!sandbox.signal(end->exec_id, 15, SignalReach::Process));
    if (auto* failed = std::get_if<ExecFailed>(&**event)) require(!failed->error.message().empty());
    ended = std::holds_alternative<SandboxEnded>(**event);
  }
}

}  // namespace

// The first byte says what kind of sandbox it is.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Peer process_1;
  auto sandbox = make_sandbox(process_1.take_first(), data[0]);
  for (const Piece& piece : split_pieces({reinterpret_cast<const char*>(data) + 1, size - 1}))
    process_1.say(piece.content, piece.about % 5);
  process_1.end();
  if (data[0] & kAdopts) static_cast<void>(sandbox->take_over());
  use(*sandbox);
  take_events(*sandbox);
  return 0;
}
