#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

// Seccomp programs of the same meaning in fewer instructions: what the kernel has to check, translate and compile at
// every start of a sandbox.
namespace cove::seccomp {

using Program = std::vector<sock_filter>;

// libseccomp compares each call's number by itself. Here neighbours that are treated alike are one range, ranges are
// found by bisection, and behind a number stands only what is asked about its arguments. For programs that look at
// `arch`, the number and the arguments, one word at a time, as libseccomp writes them; ends the program on others.
Program condense(const Program& program, uint32_t arch);

// What a program says to a call: for checking one against the other. The words are those of seccomp_data.
uint32_t evaluate(const Program& program, const std::vector<uint32_t>& words);

}  // namespace cove::seccomp
