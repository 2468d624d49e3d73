#include "secret/seal.h"

#include <sodium.h>

#include <algorithm>
#include <cstdlib>

#include "base/encoding.h"

namespace cove {
namespace {

constexpr size_t kNonce = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTag = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr size_t kIdBytes = 8;
static_assert(SecretKey::kSize == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

// Once, before anything else of the library; any thread.
void start_library() {
  static const int started = ::sodium_init();
  if (started < 0) std::abort();
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string hash(std::string_view text, std::string_view key, size_t size) {
  start_library();
  std::string out(size, '\0');
  crypto_generichash(bytes_of(out), out.size(), bytes_of(text), text.size(), bytes_of(key), key.size());
  return out;
}

}  // namespace

void wipe(std::string& text) {
  sodium_memzero(text.data(), text.size());
  text.clear();
}

SecretKey::~SecretKey() { sodium_memzero(bytes_.data(), bytes_.size()); }

SecretKey SecretKey::random() {
  start_library();
  SecretKey key;
  randombytes_buf(key.bytes_.data(), key.bytes_.size());
  return key;
}

SecretKey SecretKey::of_bytes(std::string_view bytes) {
  if (bytes.size() != kSize) std::abort();
  SecretKey key;
  std::copy(bytes.begin(), bytes.end(), key.bytes_.begin());
  return key;
}

SecretKey SecretKey::of_text(std::string_view text) {
  std::string bytes = hash(text, "", kSize);
  SecretKey key = of_bytes(bytes);
  wipe(bytes);
  return key;
}

bool SecretKey::operator==(const SecretKey& other) const {
  return sodium_memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) == 0;
}

std::string SecretKey::id() const { return to_hex(hash("id", bytes(), crypto_generichash_BYTES).substr(0, kIdBytes)); }

std::string SecretKey::derive(std::string_view purpose) const { return hash(purpose, bytes(), kSize); }

std::string SecretKey::seal(std::string_view plain, std::string_view about) const {
  start_library();
  std::string sealed(kNonce + plain.size() + kTag, '\0');
  randombytes_buf(sealed.data(), kNonce);
  unsigned long long size = 0;
  crypto_aead_xchacha20poly1305_ietf_encrypt(bytes_of(sealed) + kNonce, &size, bytes_of(plain), plain.size(),
                                             bytes_of(about), about.size(), nullptr, bytes_of(sealed), bytes_.data());
  return sealed;
}

Result<std::string> SecretKey::open(std::string_view sealed, std::string_view about) const {
  start_library();
  if (sealed.size() < kNonce + kTag) return fail(Code::Internal, "it is cut short");
  std::string plain(sealed.size() - kNonce - kTag, '\0');
  unsigned long long size = 0;
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(bytes_of(plain), &size, nullptr, bytes_of(sealed) + kNonce,
                                                 sealed.size() - kNonce, bytes_of(about), about.size(),
                                                 bytes_of(sealed), bytes_.data()) != 0)
    return fail(Code::Internal, "it was changed, or sealed with another key");
  return plain;
}

}  // namespace cove
