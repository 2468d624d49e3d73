#include "net/authority.h"

#include <gtest/gtest.h>

#include "net/certificate.h"

namespace cove::net {
namespace {

constexpr int64_t kBegin = 1'760'000'000'000, kEnd = 1'860'000'000'000;

Authority make(const std::string& seed, const std::string& sandbox = "sb_1") {
  auto made = make_authority(seed, sandbox, kBegin, kEnd);
  EXPECT_TRUE(made) << made.error().message();
  return std::move(made).value_or(Authority{});
}

TEST(Authority, HasTheSameKeyAndSerialWheneverItIsMade) {
  const std::string seed(32, 's');
  Authority first = make(seed), second = make(seed);
  EXPECT_EQ(first.key, second.key);
  Certificate a = *certificate_of_pem(first.certificate), b = *certificate_of_pem(second.certificate);
  EXPECT_EQ(ASN1_INTEGER_cmp(X509_get0_serialNumber(a.get()), X509_get0_serialNumber(b.get())), 0);
  Key key = *key_of_pem(first.key);
  EXPECT_EQ(X509_verify(b.get(), key.get()), 1);
  EXPECT_NE(make(std::string(32, 't')).key, first.key);
}

TEST(Authority, MaySignCertificatesOfServersAndNoAuthorities) {
  Certificate certificate = *certificate_of_pem(make(std::string(32, 's')).certificate);
  EXPECT_EQ(X509_check_ca(certificate.get()), 1);
  EXPECT_EQ(X509_get_pathlen(certificate.get()), 0);
  EXPECT_EQ(X509_get_key_usage(certificate.get()), static_cast<uint32_t>(KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  time_t before = kBegin / 1000 - 1, within = kBegin / 1000 + 1, after = kEnd / 1000 + 1;
  EXPECT_GT(X509_cmp_time(X509_get0_notBefore(certificate.get()), &before), 0);
  EXPECT_LT(X509_cmp_time(X509_get0_notBefore(certificate.get()), &within), 0);
  EXPECT_LT(X509_cmp_time(X509_get0_notAfter(certificate.get()), &after), 0);
}

TEST(Authority, NeedsAWholeSeed) { EXPECT_FALSE(make_authority("short", "sb_1", kBegin, kEnd)); }

TEST(Authority, TakesAnyNameOfASandbox) {
  EXPECT_NE(make(std::string(32, 's'), std::string(300, 'x')).certificate, "");
}

}  // namespace
}  // namespace cove::net
