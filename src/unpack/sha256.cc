#include "unpack/sha256.h"

#include <cstdlib>

#include "base/encoding.h"

namespace cove::unpack {

Sha256::Sha256() : context_(::EVP_MD_CTX_new(), &::EVP_MD_CTX_free) {
  if (!context_ || ::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr) != 1) std::abort();
}

void Sha256::update(std::string_view piece) {
  if (::EVP_DigestUpdate(context_.get(), piece.data(), piece.size()) != 1) std::abort();
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (::EVP_DigestFinal_ex(context_.get(), digest, &size) != 1) std::abort();
  return to_hex({reinterpret_cast<const char*>(digest), size});
}

}  // namespace cove::unpack
