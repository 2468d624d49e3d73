#pragma once

#include <string>
#include <string_view>

#include "net/openssl.h"

// What certificates of authorities and of servers have in common.
namespace cove::net {

struct CertificateOrder {
  std::string serial;       // bytes, at most 20
  std::string common_name;  // at most 64 bytes
  int64_t not_before_ms = 0;
  int64_t not_after_ms = 0;
};
// An unsigned certificate of that key, X.509 version 3, without extensions. Its issuer is empty.
Result<Certificate> begin_certificate(const CertificateOrder& order, EVP_PKEY* key);
// As in openssl.cnf: ("basicConstraints", "critical,CA:TRUE"). `issuer` may be the certificate itself.
Result<void> add_extension(X509* certificate, X509* issuer, const char* name, const std::string& value);
Result<void> sign_certificate(X509* certificate, X509* issuer, EVP_PKEY* issuer_key);

Result<std::string> to_pem(X509* certificate);
Result<std::string> to_pem(EVP_PKEY* key);
Result<Certificate> certificate_of_pem(std::string_view pem);
Result<Key> key_of_pem(std::string_view pem);

}  // namespace cove::net
