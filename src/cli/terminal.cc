#include "cli/terminal.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "sys/file.h"

namespace cove::cli {

bool print(std::string_view text) {
  Result<void> written = sys::write_all(STDOUT_FILENO, text);
  // No message if our reader has closed the pipe.
  if (!written && written.error().errnum() != EPIPE)
    tell(concat("write to standard output: ", std::strerror(written.error().errnum())));
  return written.has_value();
}

void tell(std::string_view message) {
  static_cast<void>(sys::write_all(STDERR_FILENO, concat("cove: ", message, "\n")));
}

int complain(const Error& error) {
  std::string text = error.message();
  if (!error.hint().empty()) text += concat("\n  hint: ", error.hint());
  tell(text);
  return kOwnFailure;
}

}  // namespace cove::cli
