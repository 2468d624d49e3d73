#pragma once

#include <string>
#include <string_view>
#include <vector>

// Users from the sandbox's own /etc/passwd and /etc/group.
namespace cove::init {

struct User {
  std::string name;
  unsigned uid = 0;
  unsigned gid = 0;
  std::string home = "/";
  std::string shell = "/bin/sh";
  std::vector<unsigned> groups;
};

// `wanted` is NAME, UID, NAME:GROUP or UID:GID. False if there is no such name; a number needs no entry.
bool find_user(std::string_view wanted, std::string_view passwd, std::string_view group, User& user);

// The same, from the files. At most 1 MiB of each is read.
bool find_user(std::string_view wanted, User& user);

}  // namespace cove::init
