#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace cove::api {

// SHA-256 over pieces.
class Digest {
 public:
  Digest();
  Digest& update(std::string_view piece);
  // Hexadecimal; nothing can be added after it.
  std::string hex();

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace cove::api
