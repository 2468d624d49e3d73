#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace cove::unpack {

// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view piece);
  // Finishes the hash: 64 hexadecimal digits. Nothing can be added afterwards.
  std::string hex();

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace cove::unpack
