#pragma once

#include "model/exec.h"
#include "runtime/runtime.h"

namespace cove {

// Why Cove ended an exec.
enum class Cause { None, Timeout, Output, Killed };

// Converts the end of an exec to a result: exit code or signal, usage, status and why.
void judge(ExecResult& result, const ExecEnded& end, Cause cause, const Limits& limits);
// Adds denials for limits that the kernel enforces without counting, from the program's own error output.
void note_reported_limits(ExecResult& result, const Limits& limits);
// The result for a program that could not be started because of a user error.
void judge(ExecResult& result, const ExecFailed& failure);

}  // namespace cove
