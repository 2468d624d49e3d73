#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::spawn {

// A user of this machine, with all that he is a member of.
struct Person {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};
};

// In a child of root's: becomes this person for good. As an ordinary user there is nobody else to become.
Result<void> take_identity(const Person& person);

// Tells who is at the other end of a connection to one of the server's own Unix sockets.
//
// The kernel names who called connect(2), but only on a connection that was accepted; on the client's end of one it
// names who called listen(2), which is root for our own sockets and for many others. The connections are handed over by
// coved, which may have been taken over: so root's cove-spawn asks about those only that were accepted at one of the
// server's sockets. They are told by the socket's file: what is accepted at a socket has that socket's file, and every
// bind(2) makes a new one.
class Callers {
 public:
  Callers() = default;  // of no socket
  // Of these listening sockets, which need not stay open.
  static Result<Callers> of(const std::vector<int>& listeners);

  // Denied where it cannot be known who that is.
  Result<Person> identify(int connection) const;

 private:
  Result<void> check_accepted(int connection) const;

  std::vector<UniqueFd> files_;  // held open, so that no other file can have their inodes' numbers
};

}  // namespace cove::spawn
