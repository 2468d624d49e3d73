#include "spawn/service_users.h"

#include <unistd.h>

#include "base/text.h"
#include "sys/file.h"

namespace cove::spawn {
namespace {

// Outside the ids of useradd and of the sandboxes' ranges.
constexpr uid_t kServerId = 0x6ffffff0;
constexpr uid_t kGatewayId = 0x6ffffff1;

UserCredentials service_user(std::string_view name, uid_t otherwise) {
  if (::geteuid() != 0) return {::geteuid(), ::getegid()};
  for (const std::string& line : split(sys::read_file("/etc/passwd").value_or(""), '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() < 4 || fields[0] != name) continue;
    Result<int64_t> uid = parse_integer(fields[2], 1, INT32_MAX);
    Result<int64_t> gid = parse_integer(fields[3], 1, INT32_MAX);
    if (uid && gid) return {static_cast<uid_t>(*uid), static_cast<gid_t>(*gid)};
  }
  return {otherwise, otherwise};
}

}  // namespace

UserCredentials server_user() { return service_user("cove", kServerId); }

Result<UserCredentials> gateway_user() {
  UserCredentials user = service_user("cove-gateway", kGatewayId);
  if (::geteuid() != 0 || user.uid != server_user().uid) return user;
  return fail(
      Error(Code::Invalid, "the users 'cove' and 'cove-gateway' have the same id")
          .hint("give the user cove-gateway an id of its own: sandboxes' traffic must not be in coved's hands"));
}

}  // namespace cove::spawn
