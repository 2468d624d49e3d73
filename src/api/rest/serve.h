#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cove::api {

// How coved was started.
struct ServeOrder {
  int channel = -1;                                           // to cove-spawn
  std::string config_file;                                    // empty: the usual one
  uint32_t owner = 0;                                         // whose server it is
  std::vector<std::pair<std::string, std::string>> settings;  // over those of the file
  std::string folder;                                         // the server's own; empty: the one in the state folder
  std::vector<int> sockets;                                   // that whoever started it opened
  std::string tls_cert, tls_key;                              // copies of the files that the settings name; or empty
  std::string secrets_key, old_secrets_key;                   // copies of credentials; or empty
  int ready_fd = -1;                                          // told when it serves, or why it does not
  bool exits_when_idle = false;                               // it was started by a command, not by a person
};

// Serves until it is told to stop, or has nothing to keep. An error: it could not start, or cove-spawn is gone.
Result<void> serve(const ServeOrder& order);

}  // namespace cove::api
