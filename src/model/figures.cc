#include "model/figures.h"

#include <algorithm>

#include "base/text.h"

namespace cove {
namespace {

constexpr std::string_view kPythonPath = "PYTHONPATH";

}  // namespace

void want_figures(Environment& env) {
  if (std::ranges::any_of(env, [](const auto& variable) { return variable.first == kFiguresVariable; })) return;
  env.emplace_back(kFiguresVariable, kFiguresBackend);
}

void find_figures_module(Environment& env) {
  std::string_view backend, path;
  for (const auto& [name, value] : env) {
    if (name == kFiguresVariable) backend = value;
    if (name == kPythonPath) path = value;
  }
  if (backend != kFiguresBackend) return;
  std::string longer = path.empty() ? std::string(kFiguresFolder) : concat(std::string_view(kFiguresFolder), ":", path);
  std::erase_if(env, [](const auto& variable) { return variable.first == kPythonPath; });
  env.emplace_back(kPythonPath, std::move(longer));
}

std::string figure_name(size_t number) { return concat("figure-", number < 10 ? "0" : "", number, ".png"); }

bool is_png(std::string_view data) { return data.starts_with("\x89PNG\r\n\x1a\n"); }

}  // namespace cove
