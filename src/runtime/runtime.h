#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "image/manifest.h"
#include "model/exec.h"
#include "model/runtime_kind.h"
#include "model/sandbox.h"
#include "runtime/host_runner.h"
#include "runtime/view.h"

namespace cove {

// What a runtime can do; what it cannot, it answers with Unsupported.
struct Capabilities {
  std::string name;
  bool pause = false;
  bool update_limits = false;
  bool adopt = false;
  bool dial = false;
  bool nesting = false;
  bool pty = false;
  bool review_layer = false;  // the writable layer can be read as a change set
  bool waiting_scripts = false;
  bool compile_step = false;  // ExecSpec::compile
  bool own_images = false;    // names of images are the runtime's own: see Runtime::image
};

// Our ends of an exec's streams: pipes, or a terminal's master.
struct Attachment {
  UniqueFd in;
  UniqueFd out;
  UniqueFd err;
  UniqueFd terminal;
};

// What happens in a sandbox.
struct ExecEnded {
  std::string exec_id;
  int wait_status = 0;
  Usage usage;
  uint64_t oom_kills = 0;
  uint64_t refused_forks = 0;
  uint64_t full_disk = 0;            // the disk limit, where hardly anything is left of it
  std::vector<std::string> figures;  // PNG, as the program left them: bounded, else anything
  uint64_t figures_left_out = 0;
  Phase phase = Phase::Run;  // Compile: the program was never started
};
// The program could not be started: the user's mistake (`exit_code` 126 or 127), or ours.
struct ExecFailed {
  std::string exec_id;
  Error error;
  int exit_code = 125;
  Phase phase = Phase::Run;
};
// A program with `script_follows` has done all that it does before it reads its script.
struct ExecWaiting {
  std::string exec_id;
};
// The sandbox is gone: it was destroyed, its process 1 ended, or it never came up (then with an error).
struct SandboxEnded {
  std::optional<Error> error;
  bool out_of_memory = false;  // the watcher ended it at its memory limit
};
using Event = std::variant<ExecEnded, ExecFailed, ExecWaiting, SandboxEnded>;

// Whom a signal reaches: the program itself, or its process group as a terminal's Ctrl-C would.
enum class SignalReach { Process, Group };

// What a sandbox uses now, and has used since it started.
struct Stats {
  Usage total;
  uint64_t memory_bytes = 0;
  uint64_t processes = 0;
  uint64_t layer_bytes = 0;
};

// What becomes of a sandbox's writable layer when it ends.
enum class Files { Keep, Remove };

// One sandbox of a runtime. Not thread-safe; the handle's end does not end a Lifetime::Long sandbox.
//
//   auto sandbox = COVE_TRY(runtime.create(spec));
//   Attachment streams = COVE_TRY(sandbox->exec(command));
//   … poll sandbox->events_fd() and the streams …
//   std::optional<Event> event = COVE_TRY(sandbox->next_event());
class Sandbox {
 public:
  virtual ~Sandbox() = default;

  // By what each limit is held, and where a default fell back: one line each.
  virtual const EnforcedLimits& enforced() const = 0;
  virtual const std::vector<std::string>& warnings() const = 0;

  // Waits until the walls stand. Not needed before `exec`: a sandbox that fails to come up says so by an event.
  virtual Result<void> ready() = 0;

  // Starts a program and returns our ends of its streams; how it ends is an event.
  virtual Result<Attachment> exec(const ExecSpec& spec) = 0;
  // The streams of an exec that another server started.
  virtual Result<Attachment> attach(const std::string& exec_id) = 0;
  // No more input will come, from this server or a later one. Our own end must be closed, too.
  virtual Result<void> close_input(const std::string& exec_id) = 0;
  // What a program with `script_follows` waits for; at most kLongestScript bytes.
  virtual Result<void> give_script(const std::string& exec_id, std::string_view text) = 0;
  // argv, env and input of an exec with `command_follows`.
  virtual Result<void> give_command(const ExecSpec& spec) = 0;
  // How the exec ended is on record and its output taken: nothing of it need be kept for a later server.
  virtual void forget(const std::string& exec_id) = 0;
  // The execs that an earlier server started, after adoption.
  virtual std::vector<std::string> adopted_execs() const = 0;
  virtual Result<void> signal(const std::string& exec_id, int number, SignalReach reach) = 0;
  virtual Result<void> resize(const std::string& exec_id, WindowSize size) = 0;
  // Ends the exec with all that it started, whatever session or user that runs as.
  virtual Result<void> kill(const std::string& exec_id) = 0;

  virtual Result<void> pause() = 0;
  virtual Result<void> resume() = 0;
  virtual Result<void> update_limits(const Limits& limits) = 0;
  virtual Result<Stats> stats() = 0;

  // Files, in the sandbox's own view and with a user's rights; works at every limit.
  virtual Result<std::unique_ptr<View>> open_view(const std::string& user) = 0;
  // A connection to a port of the sandbox's own loopback.
  virtual Result<UniqueFd> dial(uint16_t port) = 0;

  // Readable when next_event has something; nothing where there is none yet.
  virtual int events_fd() const = 0;
  virtual Result<std::optional<Event>> next_event() = 0;

  // Nothing runs in it, and nothing that ran has left anything running: nobody need wait for its end.
  virtual bool quiet() const { return false; }
  // Ends everything and returns when no process, mount or control group of it is left, nor its files if so asked.
  virtual Result<void> destroy(Files files) = 0;
};

// A kind of walls.
class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual Capabilities capabilities() const = 0;
  // Of sandboxes whose spec names that runtime, where this one stands for several.
  virtual Capabilities capabilities_of(const std::string&) const { return capabilities(); }
  virtual Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) = 0;
  // A Lifetime::Long sandbox that an earlier process created.
  virtual Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) = 0;
  // Begins to record what a workspace is like, with the rights of its caller: the record comes through `out`, as
  // change/ reads it, and why it does not through `err`.
  virtual Result<std::unique_ptr<HostProcess>> record_base(const Workspace&) {
    return fail(Code::Unsupported, concat("the runtime '", capabilities().name, "' cannot review a workspace"));
  }
  // Opens a workspace with the rights of its caller, and notes which folder it is.
  virtual Result<void> pin_workspace(Workspace&) { return {}; }
  // What an image of the runtime's own says about how its programs are run. NotFound, with how to get it.
  virtual Result<ImageConfig> image(const std::string& runtime, const std::string&) {
    return fail(Code::Unsupported, concat("the runtime '", runtime, "' has no images of its own"));
  }
  // Whether a runtime can be used, where that takes more rights than whoever asks has.
  virtual Result<RuntimeFact> examine(const std::string& runtime) {
    return fail(Code::Unsupported, concat("nothing more is known of the runtime '", runtime, "'"));
  }
  // The kept files of a sandbox that does not run.
  virtual Result<void> remove_files(const SandboxSpec& spec) = 0;
  // Ends and removes every Lifetime::Long sandbox of this runtime that is not among `known`, and all that is left of
  // half-made ones.
  virtual Result<void> sweep(const std::vector<std::string>& known) = 0;
  // Whoever makes its sandboxes has died: what fails now says nothing about the sandboxes.
  virtual bool lost() const { return false; }
};

}  // namespace cove
