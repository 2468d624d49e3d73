#include "secret/key_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr const char* kFirst = "secrets.key";
constexpr const char* kSecond = "secrets.key.new";
constexpr const char* kUnfinished = "secrets.key.tmp";
constexpr size_t kLongestCredential = 64 * 1024;

Result<void> sync_folder(const std::string& path) {
  UniqueFd folder = COVE_TRY(sys::open(path, O_RDONLY | O_DIRECTORY));
  if (::fsync(folder.get()) < 0) return fail_errno(concat("fsync ", path));
  return {};
}

// A key that others may have read, or put there, protects nothing.
Result<void> check_file(int file, const std::string& path) {
  const struct stat info = COVE_TRY(sys::fstat(file));
  const char* wrong = nullptr;
  if (!S_ISREG(info.st_mode)) wrong = "it is no file";
  if (info.st_uid != ::geteuid()) wrong = "it is another user's";
  if ((info.st_mode & 077) != 0) wrong = "others may read or write it";
  if (info.st_nlink > 1) wrong = "it has another name, too";
  if (wrong == nullptr) return {};
  return fail(Error(Code::Denied, concat("the key of the secrets cannot be used: ", path, ": ", wrong))
                  .hint(concat("if no one else has read it: chown ", ::geteuid(), " ", path, "; chmod 600 ", path)));
}

Result<std::optional<SecretKey>> read_key_file(const std::string& path) {
  Result<UniqueFd> file = sys::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file && file.error().code() == Code::NotFound) return std::nullopt;
  if (!file && file.error().errnum() == ELOOP)
    return fail(Code::Denied, concat("the key of the secrets cannot be used: ", path, " is a link"));
  if (!file) return std::unexpected(file.error());
  COVE_TRY(check_file(file->get(), path));
  std::string bytes = COVE_TRY(sys::read_all(file->get(), 2 * SecretKey::kSize));
  if (bytes.size() != SecretKey::kSize)
    return fail(Error(Code::Unavailable, concat("the key of the secrets has the wrong size: ", path))
                    .hint("put it back from a backup"));
  SecretKey key = SecretKey::of_bytes(bytes);
  wipe(bytes);
  return key;
}

Result<std::optional<SecretKey>> read_credential(const std::string& path) {
  if (path.empty()) return std::nullopt;
  std::string text = COVE_TRY_NOTE("read the key of the secrets", sys::read_file(path, kLongestCredential));
  if (text.size() < SecretKey::kSize)
    return fail(Error(Code::Unavailable,
                      concat("the credential with the key of the secrets is shorter than ", SecretKey::kSize, " bytes"))
                    .hint("make one with: openssl rand -base64 32"));
  SecretKey key = SecretKey::of_text(text);
  wipe(text);
  return key;
}

Result<void> write_key(const std::string& path, const SecretKey& key) {
  ::unlink(path.c_str());
  UniqueFd file = COVE_TRY(sys::open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  COVE_TRY(sys::write_all(file.get(), key.bytes()));
  if (::fsync(file.get()) < 0) return fail_errno(concat("fsync ", path));
  return {};
}

}  // namespace

Result<KeyFiles> read_keys(const KeyPlaces& places) {
  KeyFiles keys;
  std::optional<SecretKey> own = COVE_TRY(read_key_file(concat(places.folder, "/", kFirst)));
  if (places.credential.empty()) {
    keys.first = std::move(own);
    keys.second = COVE_TRY(read_key_file(concat(places.folder, "/", kSecond)));
    return keys;
  }
  keys.first = COVE_TRY(read_credential(places.credential));
  keys.second = COVE_TRY(read_credential(places.old_credential));
  if (!keys.second) keys.second = std::move(own);  // from before there was a credential
  return keys;
}

Result<void> create_key_file(const std::string& folder, const SecretKey& key) {
  const std::string unfinished = concat(folder, "/", kUnfinished), path = concat(folder, "/", kFirst);
  COVE_TRY_NOTE("make the key of the secrets", write_key(unfinished, key));
  if (::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) < 0)
    return fail_errno(concat("rename ", unfinished));
  return sync_folder(folder);
}

Result<void> stage_key_file(const std::string& folder, const SecretKey& key) {
  const std::string unfinished = concat(folder, "/", kUnfinished);
  COVE_TRY_NOTE("make the next key of the secrets", write_key(unfinished, key));
  COVE_TRY(sys::rename(unfinished, concat(folder, "/", kSecond)));
  return sync_folder(folder);
}

Result<void> promote_key_file(const std::string& folder) {
  COVE_TRY(sys::rename(concat(folder, "/", kSecond), concat(folder, "/", kFirst)));
  return sync_folder(folder);
}

void drop_staged_key_file(const std::string& folder) { ::unlink(concat(folder, "/", kSecond).c_str()); }

}  // namespace cove
