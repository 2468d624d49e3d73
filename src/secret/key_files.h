#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "secret/seal.h"

namespace cove {

// Where the key of the secrets is. A credential is a file that the administrator provides, and is only read; without
// one, coved has a file of its own.
struct KeyPlaces {
  std::string folder;          // coved's own
  std::string credential;      // the path of the credential, or empty
  std::string old_credential;  // of the one before it, or empty
};

// The keys that there are. The second is one that has not become the first yet, or is no longer the first.
struct KeyFiles {
  std::optional<SecretKey> first;
  std::optional<SecretKey> second;
};
// Denied where coved's file is open to others, or is a link; Unavailable where a key has the wrong form.
Result<KeyFiles> read_keys(const KeyPlaces& places);

// Puts a new key in coved's folder as the first, at once or not at all. It is on the disk when this returns. Exists
// where there is one.
Result<void> create_key_file(const std::string& folder, const SecretKey& key);
// The same, as the second: in place of what is there.
Result<void> stage_key_file(const std::string& folder, const SecretKey& key);
// The second becomes the first.
Result<void> promote_key_file(const std::string& folder);
void drop_staged_key_file(const std::string& folder);

}  // namespace cove
