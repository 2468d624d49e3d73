#include "http1/websocket_key.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "http1/sha1.h"

namespace cove::http1 {
namespace {

TEST(WebSocketHandshake, AnswersTheKeyAsInTheStandard) {
  EXPECT_EQ(accept_of_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(from_base64(random_key())->size(), 16u);
}

TEST(WebSocketHandshake, KnowsKeys) {
  EXPECT_TRUE(is_key(random_key()));
  for (const char* bad :
       {"", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZQ==", "dGhlIHNhb!BsZSBub25jZQ=="})
    EXPECT_FALSE(is_key(bad)) << bad;
}

TEST(Sha1, IsAsPublished) {
  EXPECT_EQ(to_base64(sha1("abc")), "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=");
  EXPECT_EQ(to_base64(sha1("")), "2jmj7l5rSw0yVb/vlWAYkK/YBwk=");
  EXPECT_EQ(to_base64(sha1(std::string(64, 'a'))), "AJi6gktcFkJ716ESKlpEKiXsZE0=");
}

}  // namespace
}  // namespace cove::http1
