#pragma once

#include <sys/types.h>

#include <set>
#include <string_view>
#include <vector>

namespace cove::init {

// The origin of a process.
struct Origin {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
};

// Parses /proc/PID/stat; false if it is malformed or the process has ended.
bool read_origin(std::string_view stat, Origin& origin);

// The origins of all processes except process 1.
std::vector<Origin> list_origins();

// Adds what belongs to those in `related`: what they started, what is in their sessions, and what these started. One
// that went to a session of its own, and whose parent has ended, belongs to nobody.
void add_related(const std::vector<Origin>& all, std::set<pid_t>& related);

}  // namespace cove::init
