#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/sandbox.h"

namespace cove {

// Pictures that a script draws with matplotlib are returned with its result. With kFiguresVariable matplotlib loads
// src/context/cove_figures.py, which writes them where process 1 finds them. Every sandbox has it in kFiguresFolder, to
// which PYTHONPATH leads whatever Python is used; src/context/sitecustomize.py is beside it.
inline constexpr std::string_view kFiguresVariable = "MPLBACKEND";
inline constexpr std::string_view kFiguresBackend = "module://cove_figures";

inline constexpr const char* kFiguresFolder = "/.cove/python";

inline constexpr uint64_t kMostFigures = 32;  // of one exec
inline constexpr uint64_t kMostOfFigure = 8 << 20;
inline constexpr uint64_t kMostOfFigures = 16 << 20;  // of one exec, together

// The variable, unless it is there already: whoever sets it has a backend of his own in mind.
void want_figures(Environment& env);

// Of the whole environment of an exec: where the variable asks for figures, Python finds what draws them.
void find_figures_module(Environment& env);

std::string figure_name(size_t number);  // from 1 on: "figure-01.png"

bool is_png(std::string_view data);

}  // namespace cove
