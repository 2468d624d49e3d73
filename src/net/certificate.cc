#include "net/certificate.h"

#include <openssl/pem.h>

namespace cove::net {
namespace {

Result<std::string> take_text(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  if (size <= 0) return fail_openssl("write PEM");
  return std::string(data, static_cast<size_t>(size));
}

Bio reader_of(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// A key with a passphrase is an error, not a question at the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

bool set_serial(X509* certificate, const std::string& bytes) {
  Number number(
      BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_names(X509* certificate, const std::string& common_name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1;
}

bool set_times(X509* certificate, const CertificateOrder& order) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), order.not_before_ms / 1000) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), order.not_after_ms / 1000) != nullptr;
}

}  // namespace

Result<Certificate> begin_certificate(const CertificateOrder& order, EVP_PKEY* key) {
  Certificate certificate(X509_new());
  X509* raw = certificate.get();
  const bool made = raw != nullptr && X509_set_version(raw, X509_VERSION_3) == 1 && set_serial(raw, order.serial) &&
                    set_names(raw, order.common_name) && set_times(raw, order) && X509_set_pubkey(raw, key) == 1;
  if (!made) return fail_openssl("make a certificate");
  return certificate;
}

Result<void> add_extension(X509* certificate, X509* issuer, const char* name, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>> extension(
      X509V3_EXT_nconf(nullptr, &context, name, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1)
    return fail_openssl(concat("add ", name, " to a certificate"));
  return {};
}

Result<void> sign_certificate(X509* certificate, X509* issuer, EVP_PKEY* issuer_key) {
  if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1 ||
      X509_sign(certificate, issuer_key, EVP_sha256()) == 0)
    return fail_openssl("sign a certificate");
  return {};
}

Result<std::string> to_pem(X509* certificate) {
  Bio memory(BIO_new(BIO_s_mem()));
  if (!memory || PEM_write_bio_X509(memory.get(), certificate) != 1) return fail_openssl("write a certificate");
  return take_text(memory.get());
}

Result<std::string> to_pem(EVP_PKEY* key) {
  Bio memory(BIO_new(BIO_s_secmem()));
  if (!memory || PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return fail_openssl("write a key");
  return take_text(memory.get());
}

Result<Certificate> certificate_of_pem(std::string_view pem) {
  Bio memory = reader_of(pem);
  Certificate certificate(memory ? PEM_read_bio_X509(memory.get(), nullptr, no_passphrase, nullptr) : nullptr);
  if (!certificate) return fail(Code::Invalid, concat("read a certificate: ", openssl_reason()));
  return certificate;
}

Result<Key> key_of_pem(std::string_view pem) {
  Bio memory = reader_of(pem);
  Key key(memory ? PEM_read_bio_PrivateKey(memory.get(), nullptr, no_passphrase, nullptr) : nullptr);
  if (!key) return fail(Code::Invalid, concat("read a key: ", openssl_reason()));
  return key;
}

}  // namespace cove::net
