#include "net/gateway/leaf.h"

#include <openssl/rand.h>

namespace cove::net {
namespace {

Result<std::string> random_serial() {
  std::string serial(16, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(serial.data()), static_cast<int>(serial.size())) != 1)
    return fail_openssl("make a serial number");
  serial[0] = static_cast<char>((serial[0] & 0x3f) | 0x40);  // positive, and always as long
  return serial;
}

// Any name that DNS has fits into a subject alternative name; a common name has 64 bytes.
std::string common_name(const std::string& name) { return name.size() <= 64 ? name : "Cove"; }

Result<void> add_extensions(X509* leaf, X509* authority, const std::string& name) {
  COVE_TRY(add_extension(leaf, authority, "basicConstraints", "critical,CA:FALSE"));
  COVE_TRY(add_extension(leaf, authority, "keyUsage", "critical,digitalSignature"));
  COVE_TRY(add_extension(leaf, authority, "extendedKeyUsage", "serverAuth"));
  COVE_TRY(add_extension(leaf, authority, "subjectKeyIdentifier", "hash"));
  COVE_TRY(add_extension(leaf, authority, "authorityKeyIdentifier", "keyid:always"));
  return add_extension(leaf, authority, "subjectAltName", concat("DNS:", name));
}

}  // namespace

Result<Leaves> Leaves::create() {
  Key key(EVP_EC_gen("P-256"));
  if (!key) return fail_openssl("make the key of certificates");
  return Leaves(std::move(key));
}

Result<Leaves::Leaf> Leaves::make(const std::string& name, const EffectivePolicy& policy, int64_t now_ms) const {
  // The name becomes text that OpenSSL parses: nothing but a name may be in it.
  if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-._") != std::string::npos || name.empty())
    return fail(Code::Invalid, concat("'", name, "' is not a name that a certificate can be made for"));
  Certificate authority = COVE_TRY_NOTE("the sandbox's authority", certificate_of_pem(policy.authority_certificate));
  Key authority_key = COVE_TRY_NOTE("the sandbox's authority", key_of_pem(policy.authority_key));
  CertificateOrder order{COVE_TRY(random_serial()), common_name(name), now_ms - kBackdated, now_ms + kLifetime};
  Certificate leaf = COVE_TRY(begin_certificate(order, key_.get()));
  COVE_TRY(add_extensions(leaf.get(), authority.get(), name));
  COVE_TRY(sign_certificate(leaf.get(), authority.get(), authority_key.get()));
  return Leaf{std::move(leaf), order.not_after_ms};
}

Result<X509*> Leaves::leaf(const std::string& name, const EffectivePolicy& policy, int64_t now_ms) {
  const std::string id = concat(name, "\n", policy.authority_certificate);
  auto found = leaves_.find(id);
  if (found != leaves_.end() && found->second.not_after_ms - now_ms >= kRenewed) return found->second.certificate.get();
  Leaf leaf = COVE_TRY(make(name, policy, now_ms));
  if (found == leaves_.end()) order_.push_back(id);
  if (order_.size() > kMost) {
    leaves_.erase(order_.front());
    order_.pop_front();
  }
  X509* certificate = leaf.certificate.get();
  leaves_.insert_or_assign(id, std::move(leaf));
  return certificate;
}

}  // namespace cove::net
