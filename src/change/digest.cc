#include "change/digest.h"

#include <cstdlib>

#include "base/encoding.h"
#include "base/text.h"

namespace cove::change {

Digest::Digest(HashKind kind) : context_(::EVP_MD_CTX_new(), &::EVP_MD_CTX_free) {
  const EVP_MD* algorithm = kind == HashKind::Sha1 ? ::EVP_sha1() : ::EVP_sha256();
  if (!context_ || ::EVP_DigestInit_ex(context_.get(), algorithm, nullptr) != 1) std::abort();
}

void Digest::update(std::string_view piece) {
  if (::EVP_DigestUpdate(context_.get(), piece.data(), piece.size()) != 1) std::abort();
}

std::string Digest::bytes() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (::EVP_DigestFinal_ex(context_.get(), digest, &size) != 1) std::abort();
  return {reinterpret_cast<const char*>(digest), size};
}

std::string Digest::hex() { return to_hex(bytes()); }

std::string blob_header(uint64_t size) {
  std::string header = concat("blob ", size);
  header += '\0';
  return header;
}

}  // namespace cove::change
