#include "model/figures.h"

#include <algorithm>

#include "base/text.h"

namespace cove {

void want_figures(Environment& env) {
  if (std::ranges::any_of(env, [](const auto& variable) { return variable.first == kFiguresVariable; })) return;
  env.emplace_back(kFiguresVariable, kFiguresBackend);
}

std::string figure_name(size_t number) { return concat("figure-", number < 10 ? "0" : "", number, ".png"); }

bool is_png(std::string_view data) { return data.starts_with("\x89PNG\r\n\x1a\n"); }

}  // namespace cove
