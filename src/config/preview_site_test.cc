#include "config/preview_site.h"

#include <gtest/gtest.h>

namespace cove {
namespace {

PreviewSite site_of(const char* text) {
  auto site = parse_preview_site(text);
  EXPECT_TRUE(site) << text;
  return site.value_or(PreviewSite());
}

TEST(PreviewSite, IsADomainOrAnOrigin) {
  EXPECT_EQ(site_of("localhost"), (PreviewSite{"localhost", "", 0}));
  EXPECT_EQ(site_of("Preview.Example.org"), (PreviewSite{"preview.example.org", "", 0}));
  EXPECT_EQ(site_of("https://p.example.org:8443"), (PreviewSite{"p.example.org", "https", 8443}));
  for (const char* text : {"localhost", "https://p.example.org", "http://p.example.org:81"})
    EXPECT_EQ(to_text(site_of(text)), text);
  for (const char* text : {"", ".", "a..b", "-a.org", "a_b.org", "127.0.0.1", "[::1]", "ftp://a.org", "a.org:80",
                           "https://a.org:0", "https://a.org:080", "https://a.org/x", "*.a.org", "a.org."})
    EXPECT_FALSE(parse_preview_site(text)) << text;
}

TEST(PreviewSite, NamesHavePortAndSandbox) {
  const PreviewSite site = site_of("localhost");
  EXPECT_EQ(parse_preview_host(site, "3000-abc.localhost:7070"), (PreviewName{3000, "abc"}));
  EXPECT_EQ(parse_preview_host(site, "80-A1.LocalHost"), (PreviewName{80, "a1"}));
  for (const char* host : {"",
                           "localhost",
                           "localhost:80",
                           "abc.localhost",
                           "3000.localhost",
                           "3000-.localhost",
                           "-abc.localhost",
                           "0-abc.localhost",
                           "65536-abc.localhost",
                           "03000-abc.localhost",
                           "+80-abc.localhost",
                           "80-a.b.localhost",
                           "80-abc.localhost.",
                           "80-abc.localhost.evil.example",
                           "80-abc.evil.example",
                           "80-a_b.localhost",
                           "80-abc-.localhost",
                           "x.80-abc.localhost",
                           "127.0.0.1:80",
                           "[::1]:80"})
    EXPECT_FALSE(parse_preview_host(site, host)) << host;
}

TEST(PreviewSite, UrlsLeaveOutTheUsualPort) {
  const PreviewName name{3000, "abc"};
  EXPECT_EQ(preview_url({"localhost", "http", 7070}, name), "http://3000-abc.localhost:7070/");
  EXPECT_EQ(preview_url({"p.example.org", "https", 443}, name), "https://3000-abc.p.example.org/");
  EXPECT_EQ(preview_url(site_of("https://p.example.org"), name), "https://3000-abc.p.example.org/");
  EXPECT_EQ(preview_url({"p.example.org", "https", 80}, name), "https://3000-abc.p.example.org:80/");
}

TEST(PreviewSite, IsToldInsideWhereItIsReachable) {
  Environment env;
  tell_preview_url(env, site_of("localhost"), "abc");
  EXPECT_TRUE(env.empty());
  tell_preview_url(env, {"localhost", "http", 7070}, "abc");
  EXPECT_EQ(env, (Environment{{"COVE_PREVIEW_URL", "http://{port}-abc.localhost:7070/"}}));
}

}  // namespace
}  // namespace cove
