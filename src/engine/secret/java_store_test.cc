#include "engine/secret/java_store.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/text.h"

namespace cove::engine {
namespace {

std::string pem(const std::string& der, const std::string& end = "\n") {
  std::string text = "-----BEGIN CERTIFICATE-----" + end;
  for (std::string rest = to_base64(der); !rest.empty(); rest.erase(0, 64)) text += rest.substr(0, 64) + end;
  return text + "-----END CERTIFICATE-----" + end;
}

TEST(JavaStore, FindsCertificatesAndPassesOverTheRest) {
  const std::string one(100, '\x30'), two("\x30\x82 two");
  const std::string text = "# a comment\n" + pem(one) + "garbage\n" + pem(two, "\r\n") +
                           "-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n"
                           "-----BEGIN CERTIFICATE-----\ncut off";
  EXPECT_EQ(certificates_of(text), (std::vector<std::string>{one, two}));
  EXPECT_TRUE(certificates_of("").empty());
  EXPECT_TRUE(certificates_of("-----END CERTIFICATE----------BEGIN CERTIFICATE-----").empty());
}

// As keytool of OpenJDK 17 has read it, with its password.
TEST(JavaStore, HasTheFormatJks) {
  const std::string store = java_trust_store({"DER1", "DER"}, 0x0102030405060708);
  const std::string expected = std::string("\xfe\xed\xfe\xed\0\0\0\2\0\0\0\2", 12) +
                               std::string("\0\0\0\2\0\4ca-0\1\2\3\4\5\6\7\10\0\5X.509\0\0\0\4DER1", 33) +
                               std::string("\0\0\0\2\0\4ca-1\1\2\3\4\5\6\7\10\0\5X.509\0\0\0\3DER", 32);
  ASSERT_EQ(store.size(), expected.size() + 20);
  EXPECT_EQ(store.substr(0, expected.size()), expected);
  EXPECT_EQ(percent_encode(store.substr(expected.size())), "%15N_s%9DE6%40%CBe%7C%09%E3%26%91%08%8C%9A%03%FA");
}

}  // namespace
}  // namespace cove::engine
