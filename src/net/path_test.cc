#include "net/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove::net {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(NetPath, PatternsMatchAnyCharactersAtAStar) {
  EXPECT_TRUE(path_matches("/a", "/a"));
  EXPECT_FALSE(path_matches("/a", "/a/"));
  EXPECT_FALSE(path_matches("/a", "/ab"));
  EXPECT_TRUE(path_matches("/a/*", "/a/"));
  EXPECT_TRUE(path_matches("/a/*", "/a/b/c"));
  EXPECT_FALSE(path_matches("/a/*", "/a"));
  EXPECT_TRUE(path_matches("/*/info/refs", "/x/y/info/refs"));
  EXPECT_FALSE(path_matches("/*/info/refs", "/x/info/refs/y"));
  EXPECT_TRUE(path_matches("/a*b*c", "/a-b-b-c"));
  EXPECT_FALSE(path_matches("/a*bc*c", "/abc"));
  EXPECT_TRUE(path_matches("/**", "/"));
  EXPECT_FALSE(path_matches("/aa*a", "/aa"));
}

TEST(NetPath, OfAnOrdinaryKindHasOneSpelling) {
  EXPECT_THAT(path_spellings("/a/b.c/d-e_f/").value(), ElementsAre("/a/b.c/d-e_f/"));
  EXPECT_THAT(path_spellings("/a%20b").value(), ElementsAre("/a b"));
  EXPECT_THAT(path_spellings("").value(), ElementsAre("/"));
}

TEST(NetPath, HasASpellingForEachWayToReadIt) {
  for (const char* path : {"/public/../secret", "/public/%2e%2e/secret", "/public/%2E./secret", "//secret", "/./secret",
                           "/public/%252e%252e/secret", "/%73ecret", "/%2573ecret", "/public/..%2fsecret",
                           "/public\\..\\secret", "/public/..;/secret", "/public/..;a=b/secret", "/secret;v=1",
                           "/;/secret", "/%2fsecret", "/public/%5c../../secret", "/x/y/../../../../secret"})
    EXPECT_THAT(path_spellings(path).value(), Contains("/secret")) << path;
  EXPECT_THAT(path_spellings("/a/..").value(), Contains("/"));
  EXPECT_THAT(path_spellings("/a/.").value(), Contains("/a/"));
  EXPECT_THAT(path_spellings("/secret/../public/x").value(), ElementsAre("/public/x", "/secret/../public/x"));
}

TEST(NetPath, ThatNoOneCanReadHasNone) {
  for (std::string_view path : {"*", "a", "/a#b", "/a%00", "/a%0d%0aX", "/%c0%af", "/\xff", "/%25252525252561"})
    EXPECT_FALSE(path_spellings(path)) << path;
  EXPECT_FALSE(path_spellings("/" + std::string(5000, 'a')));
}

}  // namespace
}  // namespace cove::net
