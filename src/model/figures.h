#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/sandbox.h"

namespace cove {

// Pictures that a script draws with matplotlib are given back with its result. With this variable matplotlib finds
// src/context/cove_figures.py, which is put beside the modules of every Python below /usr of an image; it writes them
// where process 1 finds them.
inline constexpr std::string_view kFiguresVariable = "MPLBACKEND";
inline constexpr std::string_view kFiguresBackend = "module://cove_figures";

inline constexpr uint64_t kMostOfFigure = 8 << 20;
inline constexpr uint64_t kMostOfFigures = 16 << 20;  // of one exec, together

// The variable, unless it is there already: whoever sets it has a backend of his own in mind.
void want_figures(Environment& env);

std::string figure_name(size_t number);  // from 1 on: "figure-01.png"

bool is_png(std::string_view data);

}  // namespace cove
