#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "secret/key_files.h"
#include "store/store.h"

namespace cove {

enum class SecretUse { Env, Brokered };
const char* secret_use_name(SecretUse use);  // "env", "brokered"
std::optional<SecretUse> parse_secret_use(const std::string& name);

inline constexpr size_t kLargestSecret = 64 * 1024;

// A secret without its value: all that is ever shown.
struct SecretInfo {
  std::string name;  // as of a variable: [A-Za-z_][A-Za-z0-9_]*, at most 128 bytes
  std::string project;
  std::string agent;  // empty: every agent of the project
  SecretUse use = SecretUse::Env;
  std::vector<std::string> hosts;  // of a brokered one: "api.github.com", "*.example.org", "host:8443"
  std::vector<std::string> places;  // of a brokered one: headers in lower case, or "query"; default: known ones
  int64_t created_ms = 0;
  int64_t updated_ms = 0;
};
// Where a brokered secret may stand, unless it says otherwise.
const std::vector<std::string>& usual_secret_places();

struct SecretValue {
  SecretInfo info;
  std::string value;        // at most kLargestSecret
  std::string placeholder;  // of a brokered one: same length, same well-known prefix, random otherwise; stable
};

// Secrets, encrypted at rest with a key that only the server can read. Thread-safe. Survives a power cut.
class Secrets {
 public:
  // `folder`: coved's own; the key is the file `secrets.key` in it (made with mode 0600 at the first use), or the
  // systemd credential `cove-secrets-key`. Where there are secrets on record and the key is missing or another,
  // whatever needs it is Unavailable; they can be listed and removed.
  static Result<std::unique_ptr<Secrets>> open(Store& store, const std::string& folder) {
    return open(store, KeyPlaces{folder, "", ""});
  }
  static Result<std::unique_ptr<Secrets>> open(Store& store, KeyPlaces places);

  // Makes it, or replaces its value. Invalid: a brokered one without hosts, a name that cannot be one, a value too
  // large or empty. Whether the hosts are rules is the caller's to check.
  Result<SecretInfo> set(SecretInfo info, std::string value, std::span<const EventDraft> events = {});
  // Oldest first; of the project and, if `agent` is not empty, of no other agent.
  Result<std::vector<SecretInfo>> list(const std::string& project, const std::string& agent);
  // NotFound.
  Result<void> remove(const std::string& project, const std::string& agent, const std::string& name,
                      std::span<const EventDraft> events = {});
  // With values, for use; one of the agent wins over one of the project. NotFound names the first that is missing.
  Result<std::vector<SecretValue>> values(const std::string& project, const std::string& agent,
                                          const std::vector<std::string>& names);
  // The same without values: it needs no key.
  Result<std::vector<SecretInfo>> find(const std::string& project, const std::string& agent,
                                       const std::vector<std::string>& names);
  // Encrypts everything with a new key: all of it or nothing. Unsupported where the key is a credential, which the
  // administrator replaces.
  Result<void> rotate();
  // 32 bytes that follow from the key and the purpose, for keys that need not be stored (a sandbox's authority). They
  // stay the same when the key is rotated.
  Result<std::string> derive(const std::string& purpose);

 private:
  Secrets(Store& store, KeyPlaces places) : store_(store), places_(std::move(places)) {}
  Result<void> load();
  Result<void> need_key();
  Result<void> take_key(SecretKey key, const std::string& sealed_seed);
  Result<void> change_key(const SecretKey& next);
  Result<SecretRecord> find_record(const std::string& project, const std::string& agent, const std::string& name);
  Result<std::string> open_value(const SecretRecord& record);
  Result<std::string> placeholder_for(const SecretInfo& info, const std::string& value);

  Store& store_;
  const KeyPlaces places_;
  std::mutex mutex_;             // of what follows, and of changes
  std::optional<Error> broken_;  // why the key cannot be used
  std::optional<SecretKey> key_;
  std::optional<SecretKey> seed_;
};

}  // namespace cove
