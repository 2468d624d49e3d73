#pragma once

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cove::change {

enum class HashKind { Sha1, Sha256 };

constexpr size_t hash_bytes(HashKind kind) { return kind == HashKind::Sha1 ? 20 : 32; }

// A hash over pieces.
class Digest {
 public:
  explicit Digest(HashKind kind);
  void update(std::string_view piece);
  // The end; nothing can be added after it.
  std::string bytes();
  std::string hex();

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// What git hashes in front of a file's content.
std::string blob_header(uint64_t size);

std::string to_hex(std::string_view bytes);

}  // namespace cove::change
