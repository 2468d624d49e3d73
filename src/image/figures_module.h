#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "context_kernels.h"
#include "model/figures.h"

namespace cove {

// Relative to the root of an image.
inline std::string figures_folder() { return std::string(kFiguresFolder).substr(1); }

// The files in that folder of every image, for any Python version (see model/figures.h).
struct FiguresFile {
  std::string path;
  std::string_view text;
};
inline std::vector<FiguresFile> figures_files() {
  std::vector<FiguresFile> files;
  for (auto [name, text] : {std::pair{"cove_figures.py", kFiguresProgram}, {"sitecustomize.py", kSitecustomizeProgram}})
    files.push_back({concat(figures_folder(), "/", name), text});
  return files;
}

}  // namespace cove
