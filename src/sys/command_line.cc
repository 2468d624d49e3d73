#include "sys/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace cove::sys {
namespace {

// The kernel stores the arguments and the environment one after the other.
char* first_text = nullptr;
char* end_of_texts = nullptr;

[[gnu::constructor]] void remember_texts(int, char** argv, char** env) {
  if (!argv || !argv[0]) return;
  first_text = argv[0];
  char* last = argv[0];
  for (char** text = argv; *text; ++text) last = std::max(last, *text);
  for (char** text = env; text && *text; ++text) last = std::max(last, *text);
  end_of_texts = last + std::strlen(last);
}

}  // namespace

void replace_command_line(std::string_view name) {
  static char* nothing[] = {nullptr};
  environ = nothing;
  if (!first_text) return;
  std::memset(first_text, 0, static_cast<size_t>(end_of_texts - first_text));
  name.copy(first_text, static_cast<size_t>(end_of_texts - first_text));
}

}  // namespace cove::sys
