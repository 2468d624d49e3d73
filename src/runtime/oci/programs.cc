#include "runtime/oci/programs.h"

#include <unistd.h>

#include "base/text.h"
#include "sys/probe.h"
#include "sys/program.h"

namespace cove::oci {
namespace {

std::unexpected<Error> not_installed(const RuntimeKind& kind) {
  std::string name = kind.name;
  return fail(Error(Code::Unavailable, concat("the runtime ", name, " is not installed: no program ",
                                              std::string_view(kind.program), " on the PATH"))
                  .hint(has_own_kernel(name)
                            ? "sudo apt install runsc   (other than Debian and Ubuntu: gVisor's own packages)"
                            : concat("sudo apt install ", name, "   (Fedora: sudo dnf install ", name, ")")));
}

// The output of `PROGRAM --version`; empty if it fails.
std::string version_text(const std::string& program) {
  sys::Question question{.argv = {program, "--version"}};
  for (char** variable = environ; *variable; ++variable) question.env.push_back(*variable);
  return sys::output_of(question).value_or(std::string());
}

// The first word with a digit and a dot in it: "runc version 1.1.5+ds1", "crun version 1.8.1", "runsc version
// 0.0~2022".
std::string version_in(const std::string& text) {
  for (const std::string& line : split(text, '\n'))
    for (const std::string& word : split(line, ' '))
      if (!word.empty() && word.find('.') != word.npos && word.find_first_of("0123456789") != word.npos) return word;
  return {};
}

}  // namespace

Result<std::string> find_program(const RuntimeKind& kind) {
  std::string path = sys::find_program(kind.program);
  if (path.empty()) return not_installed(kind);
  return path;
}

Result<std::string> settle_runtime(const std::string& name) {
  if (name.empty()) return kNativeRuntime;
  if (name == kAnyOciRuntime) {
    for (const RuntimeKind& kind : runtime_kinds())
      if (kind.family == RuntimeFamily::Oci && find_program(kind)) return kind.name;
    return fail(
        Error(Code::Unavailable, "no OCI runtime is installed").hint("install runc, crun or runsc, or omit --runtime"));
  }
  COVE_TRY(check_runtime(name));
  const RuntimeKind* kind = find_runtime_kind(name);
  if (kind->family == RuntimeFamily::Oci) COVE_TRY(find_program(*kind));
  return name;
}

Result<void> check_rights(const RuntimeKind& kind, const Rights& rights) {
  std::string name = kind.name;
  auto refuse = [&](std::string_view why, std::string hint) -> Result<void> {
    return fail(Error(Code::Unsupported, concat("the runtime ", name, " ", why)).hint(std::move(hint)));
  };
  if (name == "crun" && !rights.root)
    return refuse("can be used only by root: it creates devices itself", "use runc or native, or run Cove as root");
  if (has_own_kernel(name) && !(rights.root && rights.limits))
    return refuse("requires root and control groups for its limits",
                  "use another runtime, or run Cove as root on a machine with writable control groups");
  if (!rights.root && !rights.ids)
    return refuse("requires more user ids than this user has",
                  "use native, or install uidmap and give this user subordinate ids (`cove doctor` shows how)");
  return {};
}

RuntimeFact examine(const RuntimeKind& kind, const Rights& rights) {
  RuntimeFact fact{.name = kind.name, .title = kind.title};
  auto refuse = [&](const Error& error) {
    fact.problem = error.message();
    fact.remedy = error.hint();
    return fact;
  };
  Result<std::string> program = find_program(kind);
  if (!program) return refuse(program.error());
  fact.program = *program;
  fact.version = version_in(version_text(*program));
  if (fact.version.empty())
    return refuse(Error(Code::Unavailable, concat(*program, " --version prints nothing"))
                      .hint(concat("sudo apt install --reinstall ", fact.name)));
  if (Result<void> enough = check_rights(kind, rights); !enough) return refuse(enough.error());
  fact.available = true;
  return fact;
}

}  // namespace cove::oci
