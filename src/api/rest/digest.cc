#include "api/rest/digest.h"

#include "base/encoding.h"

namespace cove::api {

Digest::Digest() : context_(::EVP_MD_CTX_new(), ::EVP_MD_CTX_free) {
  ::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr);
}

Digest& Digest::update(std::string_view piece) {
  ::EVP_DigestUpdate(context_.get(), piece.data(), piece.size());
  return *this;
}

std::string Digest::hex() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  ::EVP_DigestFinal_ex(context_.get(), bytes, &size);
  return to_hex({reinterpret_cast<const char*>(bytes), size});
}

}  // namespace cove::api
