#include "engine/session/placement.h"

#include <algorithm>

#include "image/catalogue.h"

namespace cove::engine {
namespace {

// Why mode `selective` need not look at the command; empty where it must.
std::string reason_for_sandbox(const Circumstances& circumstances) {
  if (!circumstances.local) return "the caller is not at the server's Unix socket";
  if (!circumstances.workspace) return "there is no workspace";
  if (circumstances.review) return "the workspace is under review: the sandbox has it with its changes";
  if (circumstances.code) return "code is never plainly harmless";
  if (circumstances.variables) return "it comes with variables of its own";
  if (circumstances.terminal) return "it has a terminal";
  if (circumstances.input) return "it has input";
  if (circumstances.user) return "it is to run as a user of the sandbox";
  if (circumstances.image) return "another image or runtime is named";
  if (circumstances.files) return "files are to be brought in or out";
  if (circumstances.secrets) return "it is to have secrets";
  if (circumstances.limits) return "a limit is named that a sandbox holds";
  if (!circumstances.waited_for) return "its caller does not wait for it";
  return "";
}

Result<Placement> place_off(const Circumstances& circumstances) {
  COVE_TRY(check_off(circumstances.local, circumstances.off_allowed));
  auto needs_sandbox = [](const char* what) {
    return fail(Error(Code::Invalid, std::string("in mode 'off' ") + what).hint("use mode 'all'"));
  };
  if (circumstances.terminal) return needs_sandbox("there is no terminal");
  if (!circumstances.waited_for)
    return needs_sandbox("the caller must wait for the result, or take the output as a stream");
  if (circumstances.code) return needs_sandbox("only commands can be run: 'argv' or 'shell'");
  if (circumstances.review) return needs_sandbox("no workspace can be under review");
  COVE_TRY(check_off_access(circumstances.read_only));
  if (circumstances.user) return needs_sandbox("a command runs as its caller, and as no other user");
  if (circumstances.files) return needs_sandbox("no files are brought in or out");
  if (circumstances.image)
    return needs_sandbox("a command has the host's programs: no image and no runtime can be named");
  if (circumstances.secrets) return needs_sandbox("no secrets are given to a command");
  if (circumstances.limits)
    return needs_sandbox("no limits can be held but those on time and output: nothing else can be named");
  return Placement{Where::Host, "mode off: it ran on the host, without a sandbox"};
}

}  // namespace

bool names_image(const SandboxSpec& sandbox, const std::string& usual_runtime) {
  return sandbox.runtime != usual_runtime || (!sandbox.image.empty() && !is_host_image(sandbox.image));
}

Result<void> check_off_access(bool read_only) {
  if (!read_only) return {};
  return fail(
      Error(Code::Invalid, "in mode 'off' a workspace cannot be read-only: a command may write what its caller may")
          .hint("ask for the workspace with access rw, or use mode 'all'"));
}

Result<void> check_off(bool local, bool off_allowed) {
  if (!local)
    return fail(Error(Code::Denied, "mode 'off' can only be had at the server's Unix socket").hint("use mode 'all'"));
  if (!off_allowed)
    return fail(Error(Code::Denied, "mode 'off' is not allowed on this server")
                    .hint("use mode 'all', or have the administrator set modes.allow_off"));
  return {};
}

Result<Placement> place(const Circumstances& circumstances) {
  switch (circumstances.mode) {
    case Mode::All:
      break;
    case Mode::Selective: {
      std::string reason = reason_for_sandbox(circumstances);
      if (reason.empty()) return Placement{Where::HostIfHarmless, ""};
      return Placement{Where::Sandbox, "mode selective: " + reason};
    }
    case Mode::Off:
      return place_off(circumstances);
  }
  return Placement{Where::Sandbox, "mode all: everything runs in a sandbox"};
}

Mode stricter(Mode a, Mode b) { return std::min(a, b); }

}  // namespace cove::engine
