#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

// Unix sockets that carry messages and descriptors.
namespace cove::sys {

struct SocketPair {
  UniqueFd first;
  UniqueFd second;
};
Result<SocketPair> socketpair(int type);

// SEQPACKET sockets by name: a path, or (beginning with a NUL) an abstract name.
Result<UniqueFd> listen_unix(std::string_view name, int backlog, int flags = 0);
// Blocks while the other side's queue is full: `patience` seconds, or forever (0).
Result<UniqueFd> connect_unix(std::string_view name, int patience = 0);

struct Message {
  std::string data;           // empty: the other side has closed
  std::vector<UniqueFd> fds;  // at most kMaxFds
};
inline constexpr size_t kMaxFds = 32;

Result<void> send_message(int socket, std::string_view data, const std::vector<int>& fds = {}, int flags = 0);
// Waits for one message of at most `most` bytes; a longer one is an error.
Result<Message> receive_message(int socket, size_t most, int flags = 0);

}  // namespace cove::sys
