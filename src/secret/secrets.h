#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace cove {

enum class SecretUse { Env, Brokered };
const char* secret_use_name(SecretUse use);  // "env", "brokered"

// A secret without its value: all that is ever shown.
struct SecretInfo {
  std::string name;  // as of a variable: [A-Za-z_][A-Za-z0-9_]*, at most 128 bytes
  std::string project;
  std::string agent;  // empty: every agent of the project
  SecretUse use = SecretUse::Env;
  std::vector<std::string> hosts;   // of a brokered one: "api.github.com", "*.example.org", "host:8443"
  std::vector<std::string> places;  // of a brokered one: headers in lower case, or "query"; default: authorization, x-api-key …
  int64_t created_ms = 0;
  int64_t updated_ms = 0;
};

struct SecretValue {
  SecretInfo info;
  std::string value;        // at most 64 KiB
  std::string placeholder;  // of a brokered one: same length, same well-known prefix, random otherwise; stable
};

// Secrets, encrypted at rest with a key that only the server can read. Thread-safe. Survives a power cut.
class Secrets {
 public:
  // `folder`: coved's own; the key is the file `secrets.key` in it (made with mode 0600 at the first use), or the systemd
  // credential `cove-secrets-key`. Unavailable where there are secrets on record and the key is missing or another.
  static Result<std::unique_ptr<Secrets>> open(Store& store, const std::string& folder);

  // Makes it, or replaces its value. Invalid: a brokered one without hosts, a name that cannot be one, a value too large
  // or empty.
  Result<SecretInfo> set(SecretInfo info, std::string value);
  // Oldest first; of the project and, if `agent` is not empty, of no other agent.
  Result<std::vector<SecretInfo>> list(const std::string& project, const std::string& agent);
  Result<void> remove(const std::string& project, const std::string& agent, const std::string& name);  // NotFound
  // With values, for use; one of the agent wins over one of the project. NotFound names the first that is missing.
  Result<std::vector<SecretValue>> values(const std::string& project, const std::string& agent,
                                          const std::vector<std::string>& names);
  // Encrypts everything with a new key.
  Result<void> rotate();
  // 32 bytes that follow from the key and the purpose, for keys that need not be stored (a sandbox's authority).
  Result<std::string> derive(const std::string& purpose);

 private:
  Secrets(Store& store) : store_(store) {}
  Store& store_;
};

}  // namespace cove
