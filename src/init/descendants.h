#pragma once

#include <sys/types.h>

#include <set>
#include <string_view>
#include <vector>

namespace cove::init {

// Where a process comes from.
struct Origin {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
};

// Of /proc/PID/stat; false where it makes no sense, or the process has ended.
bool read_origin(std::string_view stat, Origin& origin);

// Of all processes but process 1.
std::vector<Origin> list_origins();

// Adds what belongs to those in `kin`: what they started, what is in their sessions, and what these started. One that
// went to a session of its own, and whose parent has ended, belongs to nobody.
void add_kin(const std::vector<Origin>& all, std::set<pid_t>& kin);

}  // namespace cove::init
