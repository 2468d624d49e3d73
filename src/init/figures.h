#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/unique_fd.h"

namespace cove::init {

struct Figures {
  std::vector<UniqueFd> files;  // opened for reading: regular files, at most wire::kMaxFigures
  uint64_t left_out = 0;        // that the program could not write
};

// Takes the figures that src/context/cove_figures.py wrote for the program that led this session, and removes their
// names. Without figures this costs one lookup.
Figures take_figures(pid_t session);

}  // namespace cove::init
