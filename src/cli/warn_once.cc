#include "cli/warn_once.h"

#include "base/text.h"
#include "cli/terminal.h"
#include "client/address.h"
#include "sys/file.h"
#include "sys/own_folder.h"

namespace cove::cli {
namespace {

constexpr size_t kMaxShown = 64 * 1024;

// Beside the server's socket, in a folder that is empty after a reboot.
Result<UniqueFd> open_told() {
  std::string folder = client::own_socket();
  folder.resize(folder.rfind('/'));
  COVE_TRY(sys::make_run_folder(folder));
  return sys::open(folder + "/warned", O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
}

// Whether the message is new; always true if it cannot be recorded.
bool remember(const std::string& line) {
  Result<UniqueFd> file = open_told();
  if (!file) return true;
  std::string shown = sys::read_all(file->get(), kMaxShown).value_or("");
  if (concat("\n", shown).find(concat("\n", line, "\n")) != std::string::npos) return false;
  if (shown.size() < kMaxShown) static_cast<void>(sys::write_all(file->get(), line + "\n"));
  return true;
}

}  // namespace

void warn_once(const std::string& message) {
  if (remember(message)) tell(message + " (shown once)");
}

}  // namespace cove::cli
