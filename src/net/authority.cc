#include "net/authority.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "net/certificate.h"

namespace cove::net {
namespace {

constexpr size_t kSeed = 32;

std::string digest(std::string_view purpose, std::string_view seed, std::string_view what) {
  std::string text = concat(purpose, '\0', seed, what);
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  OPENSSL_cleanse(text.data(), text.size());
  return out;
}

// A number from 1 up to below the order of the group: nearly every first candidate is one.
Number private_number(const EC_GROUP* group, std::string_view seed) {
  for (char attempt = 0;; ++attempt) {
    std::string bytes = digest("cove authority key", seed, std::string_view(&attempt, 1));
    Number number(BN_bin2bn(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), nullptr));
    OPENSSL_cleanse(bytes.data(), bytes.size());
    if (!number || (!BN_is_zero(number.get()) && BN_cmp(number.get(), EC_GROUP_get0_order(group)) < 0)) return number;
  }
}

std::string public_point(const EC_GROUP* group, const BIGNUM* number) {
  std::unique_ptr<EC_POINT, Freed<EC_POINT_free>> point(EC_POINT_new(group));
  if (!point || EC_POINT_mul(group, point.get(), number, nullptr, nullptr, nullptr) != 1) return {};
  std::string bytes(65, '\0');
  const size_t size = EC_POINT_point2oct(group, point.get(), POINT_CONVERSION_UNCOMPRESSED,
                                         reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), nullptr);
  return size == bytes.size() ? bytes : std::string();
}

Result<Key> make_key(std::string_view seed) {
  std::unique_ptr<EC_GROUP, Freed<EC_GROUP_free>> group(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  Number number = group ? private_number(group.get(), seed) : nullptr;
  const std::string point = number ? public_point(group.get(), number.get()) : "";
  std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>> build(OSSL_PARAM_BLD_new());
  if (point.empty() || !build) return fail_openssl("make an authority's key");
  OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_PRIV_KEY, number.get());
  OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>> values(OSSL_PARAM_BLD_to_param(build.get()));
  std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>> context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* key = nullptr;
  if (!values || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, values.get()) != 1)
    return fail_openssl("make an authority's key");
  return Key(key);
}

}  // namespace

Result<Authority> make_authority(std::string_view seed, const std::string& sandbox, int64_t not_before_ms,
                                 int64_t not_after_ms) {
  if (seed.size() != kSeed) return fail(Code::Internal, "the seed of an authority is not 32 bytes");
  Key key = COVE_TRY(make_key(seed));
  CertificateOrder order;
  order.serial = digest("cove authority serial", seed, sandbox).substr(0, 16);
  order.serial[0] = static_cast<char>((order.serial[0] & 0x3f) | 0x40);  // positive, and always as long
  order.common_name = concat("Cove sandbox ", sandbox).substr(0, 64);
  order.not_before_ms = not_before_ms;
  order.not_after_ms = not_after_ms;
  Certificate certificate = COVE_TRY(begin_certificate(order, key.get()));
  X509* raw = certificate.get();
  COVE_TRY(add_extension(raw, raw, "basicConstraints", "critical,CA:TRUE,pathlen:0"));
  COVE_TRY(add_extension(raw, raw, "keyUsage", "critical,keyCertSign,cRLSign"));
  COVE_TRY(add_extension(raw, raw, "subjectKeyIdentifier", "hash"));
  COVE_TRY(sign_certificate(raw, raw, key.get()));
  return Authority{COVE_TRY(to_pem(raw)), COVE_TRY(to_pem(key.get()))};
}

}  // namespace cove::net
