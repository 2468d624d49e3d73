#include "net/gateway/leaf.h"

#include <gtest/gtest.h>

#include "net/authority.h"

namespace cove::net {
namespace {

constexpr int64_t kHour = 3'600'000, kNow = 1'800'000'000'000;

EffectivePolicy policy(char seed) {
  auto authority = make_authority(std::string(32, seed), "sb_1", kNow - 100 * kHour, kNow + 1000 * kHour);
  EXPECT_TRUE(authority);
  EffectivePolicy made;
  made.authority_certificate = authority->certificate;
  made.authority_key = authority->key;
  return made;
}

// What a client that trusts the authority makes of it, at that time.
int verdict(X509* leaf, const EffectivePolicy& of, const char* name, int64_t at_ms) {
  Certificate authority = *certificate_of_pem(of.authority_certificate);
  std::unique_ptr<X509_STORE, Freed<X509_STORE_free>> store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), authority.get());
  std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), leaf, nullptr);
  X509_VERIFY_PARAM* checks = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set1_host(checks, name, 0);
  X509_VERIFY_PARAM_set_time(checks, at_ms / 1000);
  X509_VERIFY_PARAM_set_flags(checks, X509_V_FLAG_X509_STRICT);
  X509_VERIFY_PARAM_set_purpose(checks, X509_PURPOSE_SSL_SERVER);
  X509_verify_cert(context.get());
  return X509_STORE_CTX_get_error(context.get());
}

TEST(Leaves, AreForOneNameAndThreeDays) {
  Leaves leaves = *Leaves::create();
  const EffectivePolicy of = policy('a');
  X509* leaf = *leaves.leaf("api.example.org", of, kNow);
  EXPECT_EQ(verdict(leaf, of, "api.example.org", kNow), X509_V_OK);
  EXPECT_EQ(verdict(leaf, of, "api.example.org", kNow - 23 * kHour), X509_V_OK);
  EXPECT_EQ(verdict(leaf, of, "api.example.org", kNow + 71 * kHour), X509_V_OK);
  EXPECT_EQ(verdict(leaf, of, "api.example.org", kNow + 73 * kHour), X509_V_ERR_CERT_HAS_EXPIRED);
  for (const char* other : {"example.org", "www.api.example.org", "evil.org"})
    EXPECT_EQ(verdict(leaf, of, other, kNow), X509_V_ERR_HOSTNAME_MISMATCH) << other;
  EXPECT_NE(verdict(leaf, policy('b'), "api.example.org", kNow), X509_V_OK);
}

TEST(Leaves, AreKeptUntilTheyAreOld) {
  Leaves leaves = *Leaves::create();
  const EffectivePolicy of = policy('a'), other = policy('b');
  X509* first = *leaves.leaf("a.example.org", of, kNow);
  EXPECT_EQ(*leaves.leaf("a.example.org", of, kNow + 47 * kHour), first);
  EXPECT_NE(*leaves.leaf("a.example.org", other, kNow), first);
  X509* renewed = *leaves.leaf("a.example.org", of, kNow + 49 * kHour);
  EXPECT_EQ(verdict(renewed, of, "a.example.org", kNow + 120 * kHour), X509_V_OK);
}

TEST(Leaves, AreBounded) {
  Leaves leaves = *Leaves::create();
  const EffectivePolicy of = policy('a');
  for (size_t i = 0; i < Leaves::kMost + 10; ++i) ASSERT_TRUE(leaves.leaf(concat("h", i, ".example.org"), of, kNow));
  EXPECT_EQ(leaves.size(), Leaves::kMost);
}

TEST(Leaves, AreMadeForNamesOnly) {
  Leaves leaves = *Leaves::create();
  for (const char* bad : {"", "a,DNS:b", "a b", "*.example.org", "A.example.org", "a\nb", "a:b"})
    EXPECT_FALSE(leaves.leaf(bad, policy('a'), kNow)) << bad;
  EXPECT_TRUE(leaves.leaf(concat(std::string(63, 'a'), ".", std::string(63, 'b'), ".example.org"), policy('a'), kNow));
  EXPECT_FALSE(leaves.leaf("a.example.org", EffectivePolicy(), kNow));
}

}  // namespace
}  // namespace cove::net
