#include "machine/doctor.h"

#include <unistd.h>

#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "model/json.h"

namespace cove::cli {
namespace {

constexpr size_t kTitleWidth = 24;
constexpr int kNoSandboxes = 1;

struct DoctorOrder {
  bool json = false;
  bool help = false;
};

constexpr Option<DoctorOrder> kOptions[] = {
    {{"json", '\0', "", "print it as JSON", "Options"},
     [](DoctorOrder& order, const std::string&) -> Result<void> {
       order.json = true;
       return {};
     }},
    {{"help", 'h', "", "print this help", "Options"},
     [](DoctorOrder& order, const std::string&) -> Result<void> {
       order.help = true;
       return {};
     }},
};

std::string_view mark(FindingStatus standing) {
  switch (standing) {
    case FindingStatus::Good:
      return "ok      ";
    case FindingStatus::Weak:
      return "weak    ";
    case FindingStatus::Missing:
      return "MISSING ";
    case FindingStatus::Absent:
      return "-       ";
  }
  return "";
}

std::string describe(const Finding& finding) {
  std::string indent(2 + mark(finding.standing).size() + kTitleWidth, ' ');
  std::string title = finding.title + std::string(kTitleWidth - std::min(kTitleWidth, finding.title.size()), ' ');
  std::string text = concat("  ", mark(finding.standing), title, finding.value, "\n");
  if (!finding.effect.empty()) text += concat(indent, finding.effect, "\n");
  if (!finding.remedy.empty()) text += concat(indent, "fix: ", finding.remedy, "\n");
  return text;
}

FindingStatus status_of(const RuntimeFact& runtime) {
  if (!runtime.available) return FindingStatus::Absent;
  return runtime.problem.empty() ? FindingStatus::Good : FindingStatus::Weak;
}

std::string describe(const RuntimeFact& runtime) {
  std::vector<std::string> found = {runtime.version, runtime.program};
  std::erase(found, "");
  return describe(Finding{.name = runtime.name,
                          .title = runtime.name,
                          .standing = status_of(runtime),
                          .value = concat(runtime.title, found.empty() ? "" : concat(" (", join(found, ", "), ")")),
                          .effect = runtime.problem,
                          .remedy = runtime.remedy});
}

std::string describe(const Diagnosis& diagnosis) {
  std::string text = concat("cove ", diagnosis.version, ", ", diagnosis.mode, "\n\n");
  for (const Finding& finding : diagnosis.findings) text += describe(finding);
  text += "\nRuntimes, for --runtime:\n";
  for (const RuntimeFact& runtime : diagnosis.runtimes) text += describe(runtime);
  return text + concat("\nIsolation level: ", std::string_view(level_name(diagnosis.level)), ": ",
                       std::string_view(level_meaning(diagnosis.level)), "\n");
}

std::string doctor_help() {
  return "Usage: cove doctor [--json]\n\n"
         "Checks what this machine can enforce, and prints the isolation level it reaches (full, reduced or none) and\n"
         "how to fix what is missing. Exits with 1 if no sandbox can be started.\n" +
         options_help(option_infos(std::span<const Option<DoctorOrder>>(kOptions)));
}

std::vector<OptionInfo> doctor_options() { return option_infos(std::span<const Option<DoctorOrder>>(kOptions)); }

int doctor(const Arguments& args) {
  DoctorOrder order;
  auto rest = apply_options(std::span<const Option<DoctorOrder>>(kOptions), args, order);
  if (!rest) return complain(rest.error());
  if (!rest->empty())
    return complain(Error(Code::Invalid, concat("cove doctor takes no argument '", rest->front(), "'")));
  if (order.help) return print(doctor_help()) ? 0 : kOwnFailure;
  Diagnosis diagnosis = diagnose(examine_machine());
  JsonLayout layout = ::isatty(STDOUT_FILENO) == 1 ? JsonLayout::Indented : JsonLayout::Line;
  if (!print(order.json ? to_json(diagnosis, layout) + "\n" : describe(diagnosis))) return kOwnFailure;
  return diagnosis.level == IsolationLevel::None ? kNoSandboxes : 0;
}

}  // namespace

Verb doctor_verb() {
  return {"doctor", "show what this machine can enforce, and how to fix the rest", doctor, doctor_help, doctor_options};
}

}  // namespace cove::cli
