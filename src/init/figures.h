#pragma once

#include <sys/types.h>

#include <vector>

#include "base/unique_fd.h"

namespace cove::init {

// The figures that src/context/cove_figures.py wrote for the program that led this session, opened for reading: plain
// files, at most wire::kMaxFigures. Their names are gone afterwards. Where there are none this costs one look.
std::vector<UniqueFd> take_figures(pid_t session);

}  // namespace cove::init
