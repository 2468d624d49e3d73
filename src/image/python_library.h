#pragma once

#include <string>
#include <string_view>

namespace cove {

// Where Pythons keep their libraries, in folders like python3.11.
inline constexpr const char* kPythonLibraries[] = {"usr/lib", "usr/lib64", "usr/local/lib", "usr/local/lib64"};

inline bool is_python_library(std::string_view name) {
  constexpr std::string_view kPython = "python3.";
  return name.size() > kPython.size() && name.starts_with(kPython) &&
         name.find_first_not_of("0123456789", kPython.size()) == std::string_view::npos;
}

// The smallest folder of such a library where Python looks for modules anyway, whatever it is used with. There goes
// cove_figures.py, so that matplotlib finds what it writes figures with (see model/figures.h), and nothing else is
// different.
inline std::string modules_of_python(const std::string& library) { return library + "/lib-dynload"; }
inline constexpr std::string_view kFiguresModule = "/cove_figures.py";

// What CPython's compiled files have in their names: "cpython-311" of python3.11.
inline std::string cache_tag_of_python(std::string_view name) {
  return "cpython-3" + std::string(name.substr(name.find('.') + 1));
}

}  // namespace cove
