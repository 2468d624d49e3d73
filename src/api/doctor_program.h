#pragma once

#include <mutex>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

// Examining a machine takes forks and namespaces, which a process with threads must not make: another program does it.
namespace cove::api {

// What `cove doctor --json` prints; the `cove` beside this program is run. Some tens of milliseconds.
Result<std::string> run_doctor();

// What somebody else has run it for, and left behind this descriptor (a pipe or a file): waits for it, once.
class DoctorsReport {
 public:
  explicit DoctorsReport(UniqueFd fd) : fd_(std::move(fd)) {}
  Result<std::string> read();

 private:
  std::mutex mutex_;
  UniqueFd fd_;
  std::string text_;
};

}  // namespace cove::api
