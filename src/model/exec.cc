#include "model/exec.h"

namespace cove {

const char* phase_name(Phase phase) { return phase == Phase::Compile ? "compile" : "run"; }

const char* status_name(ExecStatus status) {
  switch (status) {
    case ExecStatus::Success:
      return "success";
    case ExecStatus::Error:
      return "error";
    case ExecStatus::Timeout:
      return "timeout";
    case ExecStatus::OomKilled:
      return "oom_killed";
    case ExecStatus::Killed:
      return "killed";
    case ExecStatus::LimitExceeded:
      return "limit_exceeded";
  }
  return "error";
}

}  // namespace cove
