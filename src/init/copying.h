#pragma once

#include <sys/types.h>

#include <string>

#include "init/copy_format.h"

namespace cove::init {

// A program that waits for its script, to be copied.
struct CopyOrder {
  pid_t pid = -1;
  std::string script;
  std::string mark;  // only a program that has this text in its memory is copied
};

// Writes a copy of the program to `out`, an empty file in memory (init/copy_format.h); the program waits on as if
// nothing had happened. This takes some milliseconds and holds the program meanwhile. If the one who copies is killed,
// so is the program.
copy::Refusal copy_program(const CopyOrder& order, int out);

// Forks a child of process 1 that does it, and ends with the Refusal as its exit code. Returns its pid, or -1.
pid_t start_copying(const CopyOrder& order, int out);

}  // namespace cove::init
