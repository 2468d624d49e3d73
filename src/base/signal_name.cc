#include "base/signal_name.h"

#include <csignal>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace cove {

Result<int> parse_signal(const std::string& text) {
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos)
    return static_cast<int>(COVE_TRY(parse_integer(text, 1, SIGRTMAX)));
  std::string name = text.starts_with("SIG") ? text.substr(3) : text;
  std::vector<std::string> names;
  for (int number = 1; number < NSIG; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known == nullptr) continue;
    if (name == known) return number;
    names.emplace_back(known);
  }
  std::string near = closest(name, names);
  Error error(Code::Invalid, concat("there is no signal '", text, "'"));
  return fail(near.empty() ? std::move(error) : std::move(error).hint(concat("did you mean ", near, "?")));
}

}  // namespace cove
