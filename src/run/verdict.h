#pragma once

#include "model/exec.h"
#include "runtime/runtime.h"

namespace cove {

// What Cove itself did to an exec.
enum class Cause { None, Timeout, Output, Killed };

// How an exec ended, in a result: exit code or signal, usage, status and why.
void judge(ExecResult& result, const ExecEnded& end, Cause cause, const Limits& limits);
// Limits that the kernel enforces without counting: what the program itself says of them on its error output.
void note_reported_limits(ExecResult& result, const Limits& limits);
// The program could not be started, by the user's mistake.
void judge(ExecResult& result, const ExecFailed& failure);

}  // namespace cove
