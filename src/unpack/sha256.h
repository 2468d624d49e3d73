#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace cove::unpack {

// A hash over pieces.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view piece);
  // The end: 64 hexadecimal digits. Nothing can be added after it.
  std::string hex();

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace cove::unpack
