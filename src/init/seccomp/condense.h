#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

// Produces equivalent seccomp programs with fewer instructions, because the kernel checks, translates and compiles them
// at every start of a sandbox.
namespace cove::seccomp {

using Program = std::vector<sock_filter>;

// libseccomp compares each call's number separately. Here adjacent numbers with the same result form a range, ranges
// are found by bisection, and only the argument checks follow a number. Accepts programs that read `arch`, the number
// and the arguments one word at a time, as libseccomp generates them; exits on others.
Program condense(const Program& program, uint32_t arch);

// The result of a program for a call, to compare two programs. The words are those of seccomp_data.
uint32_t evaluate(const Program& program, const std::vector<uint32_t>& words);

}  // namespace cove::seccomp
