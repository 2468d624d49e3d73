#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::spawn {

// A user of this machine with all its groups.
struct UserCredentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};
};

// In a child of root: becomes this user permanently. Does nothing as an ordinary user.
Result<void> assume_identity(const UserCredentials& user);

// Identifies the user at the other end of a connection to one of the server's own Unix sockets.
//
// On an accepted connection the kernel reports the user that called connect(2); on the client's end it reports the user
// that called listen(2), which is root for our own sockets and many others. The connections are passed by coved, which
// may be compromised. So root's cove-spawn only accepts connections that were accepted at one of the server's sockets.
// It recognizes them by the socket's file: an accepted connection has the file of the listening socket, and every
// bind(2) creates a new file.
class Callers {
 public:
  Callers() = default;  // of no socket
  // For these listening sockets, which need not stay open.
  static Result<Callers> of(const std::vector<int>& listeners);

  // Denied if the user cannot be determined.
  Result<UserCredentials> identify(int connection) const;

 private:
  Result<void> check_accepted(int connection) const;

  std::vector<UniqueFd> files_;  // held open, so that their inode numbers are not reused
};

}  // namespace cove::spawn
