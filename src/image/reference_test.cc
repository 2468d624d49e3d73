#include "image/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "image/catalogue.h"

namespace cove {
namespace {

using testing::HasSubstr;

const std::string kDigest = "sha256:" + std::string(64, 'a');

ImageReference parsed(const std::string& text) {
  Result<ImageReference> reference = parse_reference(text);
  EXPECT_TRUE(reference) << text << ": " << reference.error().message();
  return reference.value_or(ImageReference());
}

TEST(ImageReference, TellsRegistryRepositoryTagAndDigestApart) {
  EXPECT_EQ(parsed("tools"), (ImageReference{"", "tools", "latest", ""}));
  EXPECT_EQ(parsed("a/b:1.2"), (ImageReference{"", "a/b", "1.2", ""}));
  EXPECT_EQ(parsed("example.org/a/b"), (ImageReference{"example.org", "a/b", "latest", ""}));
  EXPECT_EQ(parsed("localhost/a"), (ImageReference{"localhost", "a", "latest", ""}));
  EXPECT_EQ(parsed("127.0.0.1:5000/a:x"), (ImageReference{"127.0.0.1:5000", "a", "x", ""}));
  EXPECT_EQ(parsed("[::1]:5000/a"), (ImageReference{"[::1]:5000", "a", "latest", ""}));
  EXPECT_EQ(parsed("a-b.c-d:80/a:1..2"), (ImageReference{"a-b.c-d:80", "a", "1..2", ""}));
  EXPECT_EQ(parsed("a@" + kDigest), (ImageReference{"", "a", "", kDigest}));
  EXPECT_EQ(parsed("a:1@" + kDigest), (ImageReference{"", "a", "1", kDigest}));
}

TEST(ImageReference, IsWrittenAsItIsRead) {
  for (const std::string& text : {std::string("a:1"), std::string("example.org:80/a/b__c:v"), "x.y/z.a-b@" + kDigest})
    EXPECT_EQ(to_text(parsed(text)), text);
}

TEST(ImageReference, RefusesWhatIsNone) {
  for (const std::string& text : {std::string(""),
                                  std::string(":"),
                                  std::string("a:"),
                                  std::string("A"),
                                  std::string("a//b"),
                                  std::string("/a"),
                                  std::string("a/"),
                                  std::string("a/../b"),
                                  std::string("a b"),
                                  std::string("a:b:c/d"),
                                  std::string("-a"),
                                  std::string("a-"),
                                  std::string("a..b"),
                                  std::string("a___b"),
                                  std::string("a@sha256:12"),
                                  std::string("a@md5:") + std::string(32, 'a'),
                                  std::string("x.y:99999/a"),
                                  std::string("a\0b", 3),
                                  std::string(300, 'a'),
                                  "a:" + std::string(200, 't'),
                                  std::string("http://x.y/a"),
                                  std::string(".x/a"),
                                  std::string("x..y/a"),
                                  std::string("x.y./a"),
                                  std::string("x-.y/a"),
                                  std::string("[1..2]/a"),
                                  std::string("[::1]x/a"),
                                  std::string("[::1\0]/a", 8)})
    EXPECT_FALSE(parse_reference(text)) << text;
}

TEST(ImageReference, IsCompletedWithTheUsualRegistry) {
  EXPECT_EQ(to_text(*complete_reference(parsed("a"), "example.org")), "example.org/a:latest");
  EXPECT_EQ(to_text(*complete_reference(parsed("a"), "example.org/library")), "example.org/library/a:latest");
  EXPECT_EQ(to_text(*complete_reference(parsed("u/a"), "example.org/library")), "example.org/u/a:latest");
  EXPECT_EQ(to_text(*complete_reference(parsed("x.y/a"), "example.org")), "x.y/a:latest");
  Result<ImageReference> none = complete_reference(parsed("a"), "");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().hint(), HasSubstr("images.registry"));
}

TEST(ImageReference, IsDockerHubsAsDockerHasIt) {
  for (const char* text : {"python:3.12-slim", "docker.io/python:3.12-slim", "docker.io/library/python:3.12-slim"})
    EXPECT_EQ(to_text(*complete_reference(parsed(text), "docker.io")), "docker.io/library/python:3.12-slim") << text;
  EXPECT_EQ(to_text(*complete_reference(parsed("u/a"), "docker.io")), "docker.io/u/a:latest");
  ImageReference image = *complete_reference(parsed("a"), "docker.io");
  EXPECT_EQ(source_of(image, "").registry, "registry-1.docker.io");
  EXPECT_EQ(source_of(image, "mirror:5000").registry, "mirror:5000");
  EXPECT_EQ(source_of(parsed("x.y/a"), "mirror:5000").registry, "x.y");
}

TEST(ImageReference, KnowsWhatLiesOnThisMachine) {
  for (const char* here : {"localhost", "localhost:5000", "127.0.0.1", "127.8.9.1:80", "[::1]:5000"})
    EXPECT_TRUE(is_loopback(here)) << here;
  for (const char* elsewhere :
       {"example.org", "127.example.org", "128.0.0.1", "localhost.example.org", "127.0.0.1.example.org:80", "[::2]"})
    EXPECT_FALSE(is_loopback(elsewhere)) << elsewhere;
}

TEST(Catalogue, FindsImagesByNameAndDigest) {
  Catalogue catalogue;
  catalogue.images[kDigest].digest = kDigest;
  catalogue.names["example.org/library/a:latest"] = kDigest;
  EXPECT_EQ(find_image(catalogue, "a", "example.org/library")->pinned(), "example.org/library/a:latest@" + kDigest);
  EXPECT_EQ(find_image(catalogue, kDigest, "")->pinned(), kDigest);
  EXPECT_EQ(find_image(catalogue, "aaaaaaaa", "")->image->digest, kDigest);
  EXPECT_EQ(find_image(catalogue, "example.org/library/a:latest@" + kDigest, "")->image->digest, kDigest);
  EXPECT_EQ(find_image(catalogue, "a", "").error().code(), Code::NotFound);
  EXPECT_EQ(find_image(catalogue, "b", "example.org").error().code(), Code::NotFound);
  EXPECT_NE(find_image(catalogue, "b", "example.org").error().hint().find("cove pull b"), std::string::npos);
  EXPECT_EQ(find_image(catalogue, "b", "example.org", ImageUse::Manage).error().hint().find("pull"), std::string::npos);
}

TEST(Catalogue, TellsWhomAnImageRunsAs) {
  ImageConfig config;
  EXPECT_EQ(user_of_image(config), "root");
  for (auto [said, user] : {std::pair{"web", "web"}, {"33:34", "33:34"}, {"web:staff", "web"}, {"33:staff", "33"}}) {
    config.user = said;
    EXPECT_EQ(user_of_image(config), user);
  }
}

}  // namespace
}  // namespace cove
