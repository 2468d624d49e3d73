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
#include "net/sockets.h"
#include "runtime/host_runner.h"
#include "runtime/view.h"

namespace cove {

// The features of a runtime; calls that need others return Unsupported.
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
  bool own_images = false;    // the runtime has its own images: see Runtime::image
  bool network = false;       // Sandbox::open_network
};

// Our ends of an exec's streams: pipes, or a terminal's master.
struct Attachment {
  UniqueFd in;
  UniqueFd out;
  UniqueFd err;
  UniqueFd terminal;
};

// Events of a sandbox.
struct ExecEnded {
  std::string exec_id;
  int wait_status = 0;
  Usage usage;
  uint64_t oom_kills = 0;
  uint64_t refused_forks = 0;
  uint64_t full_disk = 0;            // the disk limit, if it is almost used up
  std::vector<std::string> figures;  // PNG files of the program: limited in size, otherwise unchecked
  uint64_t figures_left_out = 0;
  Phase phase = Phase::Run;  // Compile: the program was never started
};
// The program could not be started: a user error (`exit_code` 126 or 127) or ours.
struct ExecFailed {
  std::string exec_id;
  Error error;
  int exit_code = 125;
  Phase phase = Phase::Run;
};
// A program with `script_follows` is ready to read its script.
struct ExecWaiting {
  std::string exec_id;
};
// The sandbox is gone: it was destroyed, its process 1 ended, or it could not be built (then with an error).
struct SandboxEnded {
  std::optional<Error> error;
  bool out_of_memory = false;  // the watcher killed it at its memory limit
};
using Event = std::variant<ExecEnded, ExecFailed, ExecWaiting, SandboxEnded>;

// The target of a signal: the program itself, or its process group, like Ctrl-C on a terminal.
enum class SignalReach { Process, Group };

// Which of the addresses 127.0.0.1 and ::1.
enum class Loopback { Four, Six };

// The current usage of a sandbox, and its total since it started.
struct Stats {
  Usage total;
  uint64_t memory_bytes = 0;
  uint64_t processes = 0;
  uint64_t layer_bytes = 0;
};

// Whether a sandbox's writable layer is kept when it ends.
enum class Files { Keep, Remove };

// One sandbox of a runtime. Not thread-safe; destroying the handle does not end a Lifetime::Long sandbox.
//
//   auto sandbox = COVE_TRY(runtime.create(spec));
//   Attachment streams = COVE_TRY(sandbox->exec(command));
//   … poll sandbox->events_fd() and the streams …
//   std::optional<Event> event = COVE_TRY(sandbox->next_event());
class Sandbox {
 public:
  virtual ~Sandbox() = default;

  // How each limit is enforced, and warnings about defaults with a fallback.
  virtual const EnforcedLimits& enforced() const = 0;
  virtual const std::vector<std::string>& warnings() const = 0;

  // Waits until the sandbox is built. Not needed before `exec`: if the build fails, an event reports it.
  virtual Result<void> ready() = 0;

  // Starts a program and returns our ends of its streams; an event reports its end.
  virtual Result<Attachment> exec(const ExecSpec& spec) = 0;
  // The streams of an exec that another server started.
  virtual Result<Attachment> attach(const std::string& exec_id) = 0;
  // Ends the input, for this server and later ones. The caller must also close its own end.
  virtual Result<void> close_input(const std::string& exec_id) = 0;
  // Sends the script to a program with `script_follows`; at most kLongestScript bytes.
  virtual Result<void> give_script(const std::string& exec_id, std::string_view text) = 0;
  // Sends argv, env and input of an exec with `command_follows`.
  virtual Result<void> give_command(const ExecSpec& spec) = 0;
  // Called when the exec's result and output are stored: nothing of it has to be kept for a later server.
  virtual void forget(const std::string& exec_id) = 0;
  // After adoption: the execs that an earlier server started.
  virtual std::vector<std::string> adopted_execs() const = 0;
  virtual Result<void> signal(const std::string& exec_id, int number, SignalReach reach) = 0;
  virtual Result<void> resize(const std::string& exec_id, WindowSize size) = 0;
  // Kills the exec and everything it started, in any session and of any user.
  virtual Result<void> kill(const std::string& exec_id) = 0;

  virtual Result<void> pause() = 0;
  virtual Result<void> resume() = 0;
  virtual Result<void> update_limits(const Limits& limits) = 0;
  virtual Result<Stats> stats() = 0;

  // Opens the files of the sandbox, as it sees them and with a user's rights; also works at the sandbox's limits.
  virtual Result<std::unique_ptr<View>> open_view(const std::string& user) = 0;
  // Sets up the network namespace, whose traffic then goes to the returned sockets, and nowhere while no one serves
  // them. May be called again, also in an adopted sandbox: earlier sockets are no longer fed then.
  virtual Result<NetworkSockets> open_network() {
    return fail(Code::Unsupported, "this runtime cannot give a sandbox a network");
  }
  // Begins to connect to a port on the sandbox's loopback interface. The socket comes from inside: it is a TCP socket,
  // but its flags are not ours alone (use MSG_DONTWAIT). finish_dial() in runtime/inside.h waits for the outcome.
  virtual Result<UniqueFd> dial(uint16_t port, Loopback loopback) = 0;
  // Asks which ports are listened at; read_ports() in runtime/inside.h reads the answer.
  virtual Result<UniqueFd> ask_ports() {
    return fail(Code::Unsupported, "this runtime cannot tell which ports are listened at");
  }

  // Readable when next_event has an event, which is empty if there is none yet.
  virtual int events_fd() const = 0;
  virtual Result<std::optional<Event>> next_event() = 0;

  // Whether no program runs in it and none has left processes behind, so that its end need not be waited for.
  virtual bool quiet() const { return false; }
  // Ends everything; returns when no process, mount or control group is left and, if requested, no files.
  virtual Result<void> destroy(Files files) = 0;
};

// An isolation backend.
class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual Capabilities capabilities() const = 0;
  // The capabilities of sandboxes with that runtime in their spec, if this object represents several runtimes.
  virtual Capabilities capabilities_of(const std::string&) const { return capabilities(); }
  virtual Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) = 0;
  // A Lifetime::Long sandbox that an earlier process created.
  virtual Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) = 0;
  // Starts recording the state of a workspace, with the rights of its caller: the record arrives through `out`, in the
  // form that change/ reads, and errors through `err`.
  virtual Result<std::unique_ptr<HostProcess>> record_base(const Workspace&) {
    return fail(Code::Unsupported, concat("the runtime '", capabilities().name, "' cannot review a workspace"));
  }
  // Opens a workspace with the rights of its caller, and records which folder it is.
  virtual Result<void> pin_workspace(Workspace&) { return {}; }
  // The configuration of one of the runtime's own images. NotFound, with how to get it.
  virtual Result<ImageConfig> image(const std::string& runtime, const std::string&) {
    return fail(Code::Unsupported, concat("the runtime '", runtime, "' has no images of its own"));
  }
  // Examines whether a runtime can be used, if that needs more rights than the caller has.
  virtual Result<RuntimeFact> examine(const std::string& runtime) {
    return fail(Code::Unsupported, concat("the runtime '", runtime, "' cannot be examined"));
  }
  // Starts the program that serves the sandboxes' networks; the channel to it (net/channel.h).
  virtual Result<UniqueFd> start_gateway() {
    return fail(Code::Unsupported, concat("the runtime '", capabilities().name, "' has no gateway"));
  }
  // Removes the kept files of a sandbox that is not running.
  virtual Result<void> remove_files(const SandboxSpec& spec) = 0;
  // Ends and removes every Lifetime::Long sandbox of this runtime that is not among `known`, and the leftovers of
  // incomplete ones.
  virtual Result<void> sweep(const std::vector<std::string>& known) = 0;
  // The process that creates its sandboxes has died: errors from now on say nothing about the sandboxes.
  virtual bool lost() const { return false; }
};

}  // namespace cove
