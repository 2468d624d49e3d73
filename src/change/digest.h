#pragma once

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cove::change {

enum class HashKind { Sha1, Sha256 };

constexpr size_t hash_bytes(HashKind kind) { return kind == HashKind::Sha1 ? 20 : 32; }

// An incremental hash.
class Digest {
 public:
  explicit Digest(HashKind kind);
  void update(std::string_view piece);
  // Finishes the hash; nothing can be added afterwards.
  std::string bytes();
  std::string hex();

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// The header that git hashes before a file's content.
std::string blob_header(uint64_t size);

}  // namespace cove::change
