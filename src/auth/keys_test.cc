#include "auth/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr int64_t kNow = 1'763'246'400'000;
const std::string kSecret(32, 's');

KeyRecord record_of(const NewKey& key) {
  KeyRecord record;
  record.id = key.id;
  record.name = "ci";
  record.scopes = "run";
  record.salt = key.salt;
  record.hash = key.hash;
  return record;
}

template <typename T>
std::string denial(const Result<T>& result) {
  if (result) return "allowed";
  EXPECT_EQ(result.error().code(), Code::Denied);
  return result.error().message();
}

TEST(Scopes, EachIncludesReadAndAdminAll) {
  for (Scope scope : {Scope::Run, Scope::Manage, Scope::Secrets, Scope::Approve}) {
    EXPECT_TRUE(Scopes({scope}).allow(scope));
    EXPECT_TRUE(Scopes({scope}).allow(Scope::Read));
    EXPECT_TRUE(Scopes({Scope::Admin}).allow(scope));
    EXPECT_FALSE(Scopes({scope}).allow(Scope::Admin));
    EXPECT_FALSE(Scopes({Scope::Read}).allow(scope));
    EXPECT_TRUE(Scopes({scope}).within(Scopes({Scope::Admin})));
    EXPECT_FALSE(Scopes({Scope::Admin}).within(Scopes({scope})));
  }
  EXPECT_FALSE(Scopes({Scope::Manage}).allow(Scope::Run));
  EXPECT_FALSE(Scopes({Scope::Run}).allow(Scope::Manage));
  EXPECT_TRUE(Scopes({Scope::Run, Scope::Manage}).allow(Scope::Manage));
  EXPECT_FALSE(Scopes({Scope::Manage}).within(Scopes({Scope::Run})));
  EXPECT_TRUE(Scopes({Scope::Admin}).allow(Scope::Read));
  EXPECT_TRUE(Scopes({Scope::Admin}).allow(Scope::Run));
  EXPECT_TRUE(Scopes({Scope::Run}).allow(Scope::Read));
  EXPECT_FALSE(Scopes({Scope::Run}).allow(Scope::Admin));
  EXPECT_FALSE(Scopes({Scope::Read}).allow(Scope::Run));
  EXPECT_TRUE(Scopes({Scope::Read, Scope::Run}).allow(Scope::Run));
  EXPECT_FALSE(Scopes().allow(Scope::Read));
  EXPECT_TRUE(Scopes({Scope::Read, Scope::Run}).within(Scopes({Scope::Run})));
  EXPECT_FALSE(Scopes({Scope::Run}).within(Scopes({Scope::Read})));
}

TEST(Scopes, AreKeptAsTheyWereGranted) {
  EXPECT_THAT(parse_scopes({"run", "read"})->names(), ElementsAre("read", "run"));
  EXPECT_EQ(parse_scopes({"admin"})->text(), "admin");
  EXPECT_EQ(parse_scopes({"approve", "manage", "secrets"})->text(), "manage,secrets,approve");
  EXPECT_EQ(read_scopes("read,run").value(), Scopes({Scope::Read, Scope::Run}));
  EXPECT_EQ(parse_scopes({}).error().code(), Code::Invalid);
  EXPECT_EQ(parse_scopes({"root"}).error().code(), Code::Invalid);
  EXPECT_EQ(read_scopes("").error().code(), Code::Internal);
}

TEST(Keys, HaveTheirIdInThem) {
  NewKey key = make_key();
  EXPECT_THAT(key.text, MatchesRegex("cove_[0-9a-f]{64}"));
  EXPECT_EQ(key_id(key.text).value(), key.id);
  EXPECT_EQ(key.text.substr(5, 8), key.id);
  EXPECT_THAT(key.hash, testing::SizeIs(64));
  EXPECT_EQ(key.hash.find(key.text.substr(13)), std::string::npos);
  std::set<std::string> different;
  for (int i = 0; i < 100; ++i) different.insert(make_key().text);
  EXPECT_EQ(different.size(), 100u);
}

TEST(Keys, OpenOnlyTheirOwnRecord) {
  NewKey key = make_key();
  KeyRecord record = record_of(key);
  EXPECT_EQ(check_key(record, key.text, kNow).value(), Scopes({Scope::Run}));
  for (size_t place : {size_t{0}, size_t{5}, size_t{13}, key.text.size() - 1}) {
    std::string tampered = key.text;
    tampered[place] = tampered[place] == '0' ? '1' : '0';
    EXPECT_EQ(denial(check_key(record, tampered, kNow)), "the key is not valid") << place;
  }
  EXPECT_EQ(denial(check_key(record, make_key().text, kNow)), "the key is not valid");
  record.salt[0] = record.salt[0] == '0' ? '1' : '0';
  EXPECT_EQ(denial(check_key(record, key.text, kNow)), "the key is not valid");
}

TEST(Keys, OfOtherFormsAreDenied) {
  NewKey key = make_key();
  std::string upper = key.text;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  for (const std::string& text :
       {std::string(), std::string("cove_"), key.text + "0", key.text.substr(0, 68), upper, " " + key.text,
        std::string(1 << 20, 'a'), std::string("cove_") + std::string(64, '\0')}) {
    EXPECT_EQ(denial(key_id(text)), "the key is not valid");
    EXPECT_EQ(denial(check_key(record_of(key), text, kNow)), "the key is not valid");
  }
}

TEST(Keys, EndWhenRevokedOrExpired) {
  NewKey key = make_key();
  KeyRecord record = record_of(key);
  record.expires_ms = kNow + 1;
  EXPECT_TRUE(check_key(record, key.text, kNow));
  EXPECT_THAT(denial(check_key(record, key.text, kNow + 1)), HasSubstr("expired"));
  EXPECT_EQ(denial(check_key(record, make_key().text, kNow + 1)), "the key is not valid");
  record.revoked_ms = 1;
  EXPECT_THAT(denial(check_key(record, key.text, kNow)), HasSubstr("revoked"));
}

TEST(Tokens, SayWhatTheyAreFor) {
  SandboxToken token{"k3x9", Scopes({Scope::Read, Scope::Run}), kNow + 1000};
  std::string text = make_token(kSecret, token);
  EXPECT_THAT(text, MatchesRegex("cvt_[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]{43}"));
  EXPECT_EQ(check_token(kSecret, text, kNow).value(), token);
  EXPECT_THAT(denial(check_token(kSecret, text, kNow + 1000)), HasSubstr("expired"));
  EXPECT_EQ(denial(check_token(std::string(32, 'x'), text, kNow)), "the token is not valid");
}

TEST(Tokens, CannotBeChanged) {
  std::string text = make_token(kSecret, {"k3x9", Scopes({Scope::Read}), kNow + 1000});
  for (size_t place = 0; place < text.size(); ++place) {
    std::string tampered = text;
    tampered[place] = tampered[place] == 'A' ? 'B' : 'A';
    EXPECT_EQ(denial(check_token(kSecret, tampered, kNow)), "the token is not valid") << place;
  }
  size_t dot = text.find('.');
  std::string forged = R"({"e":9999999999999,"s":"k3x9","sc":"admin"})";
  for (const std::string& other :
       {std::string("cvt_"), std::string("cvt_."), text.substr(0, dot), text.substr(0, dot + 1), text + "A", text + "=",
        "cvt_" + to_base64url(forged) + text.substr(dot), std::string(1 << 20, 'A'), std::string("cvt_\0.\0", 7)})
    EXPECT_EQ(denial(check_token(kSecret, other, kNow)), "the token is not valid");
}

// A signature is good for one kind of thing only.
TEST(Tokens, AreNotFileSignatures) {
  std::string body = to_base64url(R"({"e":9999999999999,"s":"k3x9","sc":"run"})");
  std::string signature = sign_file(kSecret, {"GET", "k3x9", body, "", 0});
  EXPECT_FALSE(check_token(kSecret, concat("cvt_", body, ".", signature), kNow));
}

TEST(FileSignatures, HoldForExactlyOneThing) {
  FileGrant grant{"GET", "k3x9", "/home/user/a b\n.txt", "user", kNow + 1000};
  std::string signature = sign_file(kSecret, grant);
  EXPECT_THAT(signature, MatchesRegex("[A-Za-z0-9_-]{43}"));
  EXPECT_TRUE(check_file_signature(kSecret, grant, signature, kNow));
  EXPECT_THAT(denial(check_file_signature(kSecret, grant, signature, kNow + 1000)), HasSubstr("expired"));
  EXPECT_FALSE(check_file_signature(std::string(32, 'x'), grant, signature, kNow));
  EXPECT_FALSE(check_file_signature(kSecret, grant, "", kNow));
  EXPECT_FALSE(check_file_signature(kSecret, grant, signature + "=", kNow));
  auto changed = [&](auto change) {
    FileGrant other = grant;
    change(other);
    return denial(check_file_signature(kSecret, other, signature, kNow));
  };
  EXPECT_THAT(changed([](FileGrant& other) { other.method = "PUT"; }), HasSubstr("not valid"));
  EXPECT_THAT(changed([](FileGrant& other) { other.sandbox_id = "k3x8"; }), HasSubstr("not valid"));
  EXPECT_THAT(changed([](FileGrant& other) { other.path += "x"; }), HasSubstr("not valid"));
  EXPECT_THAT(changed([](FileGrant& other) { other.user = "root"; }), HasSubstr("not valid"));
  EXPECT_THAT(changed([](FileGrant& other) { other.expires_ms += 1; }), HasSubstr("not valid"));
}

TEST(FileSignatures, PiecesDoNotRunIntoEachOther) {
  EXPECT_NE(sign_file(kSecret, {"GET", "s", "/a", "b", 1}), sign_file(kSecret, {"GET", "s", "/ab", "", 1}));
  EXPECT_NE(sign_file(kSecret, {"GET", "s", "/a\n1:b", "", 1}), sign_file(kSecret, {"GET", "s", "/a", "b", 1}));
}

TEST(Base64Url, GoesThereAndBackInOneForm) {
  EXPECT_EQ(to_base64url(""), "");
  EXPECT_EQ(to_base64url("f"), "Zg");
  EXPECT_EQ(to_base64url("fo"), "Zm8");
  EXPECT_EQ(to_base64url("foo"), "Zm9v");
  EXPECT_EQ(to_base64url("\xfb\xff"), "-_8");
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64url(to_base64url(bytes)).value(), bytes);
    bytes += static_cast<char>(i * 7);
  }
  for (const char* bad : {"A", "Zh", "Zm9", "Zg==", "Z g", "+/8", "Zm9vA"}) EXPECT_FALSE(from_base64url(bad)) << bad;
}

}  // namespace
}  // namespace cove
