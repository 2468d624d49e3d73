#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cove {

// Overwrites the bytes, in a way that a compiler does not leave out.
void wipe(std::string& text);

// 32 bytes from which everything follows that keeps secrets. Wiped when it goes.
class SecretKey {
 public:
  static constexpr size_t kSize = 32;
  static SecretKey random();
  // Exactly kSize bytes.
  static SecretKey of_bytes(std::string_view bytes);
  // Any text of at least kSize bytes, as an administrator has it in a credential.
  static SecretKey of_text(std::string_view text);

  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();

  // Tells keys apart, and says nothing about them: 16 hexadecimal digits.
  std::string id() const;
  std::string_view bytes() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  bool operator==(const SecretKey& other) const;

  // Encrypted and authenticated (XChaCha20-Poly1305, a random nonce each time). `about` is not encrypted, and opens
  // nothing but what it was sealed with.
  std::string seal(std::string_view plain, std::string_view about) const;
  // Internal where it was sealed with another key or for another purpose, or was changed.
  Result<std::string> open(std::string_view sealed, std::string_view about) const;
  // 32 bytes that follow from the key and the purpose, and from which neither can be found.
  std::string derive(std::string_view purpose) const;

 private:
  SecretKey() = default;
  std::array<uint8_t, kSize> bytes_ = {};
};

}  // namespace cove
