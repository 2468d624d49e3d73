#pragma once

#include <string>

#include "base/result.h"
#include "engine/session/session_info.h"

namespace cove::engine {

// What is known of an execution before anybody has looked at the command itself.
struct Circumstances {
  Mode mode = Mode::All;
  bool local = false;        // the caller is at the Unix socket: the kernel says who he is
  bool waited_for = false;   // its outcome, or its output, is the answer to this very call
  bool off_allowed = false;  // by the configuration
  bool workspace = false;    // there is a folder to work on
  bool review = false;       // what is written to that folder stays in the sandbox: the host does not have it
  bool read_only = false;    // that folder is not to be written to
  bool variables = false;    // it comes with some of its own
  bool code = false;         // it is code in a language, and not a command
  bool input = false;        // it has input, or may get some
  bool terminal = false;
  bool user = false;     // as a certain user of the sandbox
  bool image = false;    // with the programs of an image, or by a runtime, that the caller has named
  bool files = false;    // files are to be brought in or out
  bool secrets = false;  // it is to have some, which the host never gets
  bool limits = false;   // the caller has named one that only a sandbox can hold
};

enum class Where {
  Sandbox,
  HostIfHarmless,  // on the host where the command is found to be harmless, else in the sandbox
  Host,
};

struct Placement {
  Where where = Where::Sandbox;
  std::string why;
};

// Whether the sandbox is to have other programs than the host's, or another runtime than the usual one.
bool names_image(const SandboxSpec& sandbox, const std::string& usual_runtime);

// Denied where mode `off` was asked for and may not be had; Invalid where it cannot do what was asked for. Nothing that
// cannot be had in a sandbox is ever placed on the host for that reason.
Result<Placement> place(const Circumstances& circumstances);

// Mode `off` cannot keep a command from writing to a folder: Invalid where it is to be read only.
Result<void> check_off_access(bool read_only);

// Whether a session, or a call, may have mode `off` at all; Denied.
Result<void> check_off(bool local, bool off_allowed);

// The stricter of the two: a call cannot loosen what its session has.
Mode stricter(Mode a, Mode b);

}  // namespace cove::engine
