#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/unique_fd.h"

namespace cove::init {

struct Figures {
  std::vector<UniqueFd> files;  // opened for reading: plain files, at most wire::kMaxFigures
  uint64_t left_out = 0;        // that the program could not write
};

// The figures that src/context/cove_figures.py wrote for the program that led this session. Their names are gone
// afterwards. Where there are none this costs one look.
Figures take_figures(pid_t session);

}  // namespace cove::init
