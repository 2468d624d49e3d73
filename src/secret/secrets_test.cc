#include "secret/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.h"
#include "secret/placeholder.h"
#include "support/child.h"
#include "sys/file.h"

namespace cove {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::string_view kFolder = "COVE_TEST_SECRETS_FOLDER";
const std::string kValue = "correct-horse-battery-staple-42";
const std::string kToken = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

template <typename T>
std::string why(const Result<T>& result) {
  return result ? "it did not fail" : concat(code_name(result.error().code()), ": ", result.error().message());
}

class SecretsTest : public testing::Test {
 protected:
  SecretsTest() {
    char name[] = "/tmp/cove-secrets-test.XXXXXX";
    folder_ = ::mkdtemp(name);
    open();
  }
  ~SecretsTest() override {
    close();
    fs::remove_all(folder_);
  }

  void close() {
    secrets_.reset();
    store_.reset();
  }
  void open() {
    close();
    store_ = Store::open(folder_).value();
    secrets_ = Secrets::open(*store_, places_.folder.empty() ? KeyPlaces{folder_, "", ""} : places_).value();
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static SecretInfo env(const std::string& name = "TOKEN", const std::string& agent = "") {
    return {.name = name, .project = kDefaultProject, .agent = agent};
  }
  static SecretInfo brokered(const std::string& name = "TOKEN") {
    SecretInfo info = env(name);
    info.use = SecretUse::Brokered;
    info.hosts = {"api.github.com"};
    return info;
  }
  void set(const SecretInfo& info, const std::string& value) {
    auto done = secrets_->set(info, value);
    ASSERT_TRUE(done) << done.error().message();
  }
  Result<SecretValue> value(const std::string& name = "TOKEN", const std::string& agent = "") {
    std::vector<SecretValue> values = COVE_TRY(secrets_->values(kDefaultProject, agent, {name}));
    return values[0];
  }
  std::string text(const std::string& name = "TOKEN", const std::string& agent = "") {
    Result<SecretValue> found = value(name, agent);
    return found ? found->value : why(found);
  }
  // Whether any file of the folder has the text.
  bool on_disk(const std::string& what) const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file() && sys::read_file(entry.path()).value().find(what) != std::string::npos) return true;
    return false;
  }

  std::string folder_;
  KeyPlaces places_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Secrets> secrets_;
};

TEST_F(SecretsTest, SurvivesARestartAndIsNowhereInClear) {
  set(env(), kValue);
  EXPECT_EQ(text(), kValue);
  EXPECT_FALSE(on_disk(kValue)) << "in the journal";
  open();
  EXPECT_EQ(text(), kValue);
  store_->checkpoint().value();
  EXPECT_FALSE(on_disk(kValue));
  const struct stat key = sys::lstat(path("secrets.key")).value();
  EXPECT_EQ(key.st_mode, S_IFREG | 0600u);
  EXPECT_EQ(key.st_size, 32);
}

TEST_F(SecretsTest, ListsWithoutValuesAndRemoves) {
  set(env("B"), kValue);
  set(env("A", "coder"), kValue);
  set(env("C", "other"), kValue);
  std::vector<std::string> names;
  const std::vector<SecretInfo> listed = secrets_->list(kDefaultProject, "coder").value();
  for (const SecretInfo& info : listed) names.push_back(info.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("B", "A"));
  EXPECT_TRUE(secrets_->remove(kDefaultProject, "", "B"));
  EXPECT_THAT(why(secrets_->remove(kDefaultProject, "", "B")), HasSubstr("not_found: there is no secret 'B'"));
  EXPECT_THAT(text("B"), HasSubstr("not_found: there is no secret 'B'"));
}

TEST_F(SecretsTest, OfAnAgentWinsOverTheProjects) {
  set(env(), "the project's");
  set(env("TOKEN", "coder"), "the agent's");
  EXPECT_EQ(text("TOKEN", "coder"), "the agent's");
  EXPECT_EQ(text("TOKEN", "other"), "the project's");
  EXPECT_EQ(text(), "the project's");
}

TEST_F(SecretsTest, RefusesWhatCannotBeASecret) {
  auto refusal = [&](SecretInfo info, const std::string& given) { return why(secrets_->set(std::move(info), given)); };
  EXPECT_THAT(refusal(env(), ""), HasSubstr("secret 'TOKEN': its value is empty"));
  EXPECT_THAT(refusal(env(), std::string(1 << 20, 'x')), HasSubstr("secret 'TOKEN': its value has 1048576 bytes"));
  EXPECT_THAT(refusal(env(), std::string(kLargestSecret + 1, 'x')), HasSubstr("65537"));
  EXPECT_THAT(refusal(env(), std::string("a\0b", 3)), HasSubstr("NUL"));
  for (const char* name : {"", "1A", "A-B", "A B", "A=B", "Ä"})
    EXPECT_THAT(refusal(env(name), kValue), HasSubstr("cannot be the name of a secret")) << name;
  EXPECT_THAT(refusal(env(std::string(129, 'A')), kValue), HasSubstr("cannot be the name"));
  SecretInfo info = brokered();
  info.hosts.clear();
  EXPECT_THAT(refusal(info, kToken), HasSubstr("a brokered secret needs hosts"));
  EXPECT_THAT(refusal(brokered(), "short"), HasSubstr("at least 8 bytes"));
  EXPECT_THAT(refusal(brokered(), "line\r\nX-Header: 1"), HasSubstr("line ends"));
  info = brokered();
  info.places = {"X-Api-Key"};
  EXPECT_THAT(refusal(info, kToken), HasSubstr("is not a header"));
  info = env();
  info.hosts = {"api.github.com"};
  EXPECT_THAT(refusal(info, kValue), HasSubstr("only a brokered secret has hosts"));
  info = env();
  info.project = "nowhere";
  EXPECT_THAT(refusal(info, kValue), HasSubstr("there is no project 'nowhere'"));
  EXPECT_TRUE(secrets_->list(kDefaultProject, "").value().empty());
  set(env(), std::string(kLargestSecret, 'x'));
}

TEST_F(SecretsTest, KeepsAPlaceholderWhileTheShapeStays) {
  set(brokered(), kToken);
  const std::string first = value().value().placeholder;
  EXPECT_EQ(first.size(), kToken.size());
  EXPECT_TRUE(first.starts_with("ghp_"));
  EXPECT_NE(first, kToken);
  set(brokered(), kToken);
  EXPECT_EQ(value().value().placeholder, first);
  set(brokered(), kToken + "longer");
  EXPECT_NE(value().value().placeholder, first);
  EXPECT_THAT(why(secrets_->set(brokered(), value().value().placeholder)), HasSubstr("this is its placeholder"));
  EXPECT_THAT(value().value().info.places, testing::Contains("authorization"));
}

TEST_F(SecretsTest, DoesNotOpenWhatWasTamperedWith) {
  set(brokered(), kToken);
  const SecretRecord record = store_->list_secrets("").value()[0];
  auto with = [&](auto change) {
    SecretRecord changed = record;
    change(changed);
    store_->put_secret(changed, {}).value();
    const std::string seen = text(changed.name);
    store_->put_secret(record, {}).value();
    return seen;
  };
  EXPECT_EQ(with([](SecretRecord&) {}), kToken);
  const auto refused = HasSubstr("internal: read secret");
  for (size_t at = 0; at < record.sealed.size(); at += 7)
    EXPECT_THAT(with([&](SecretRecord& changed) { changed.sealed[at] ^= 1; }), refused) << at;
  EXPECT_THAT(with([](SecretRecord& changed) { changed.sealed.resize(10); }), refused);
  EXPECT_THAT(with([](SecretRecord& changed) { changed.sealed.clear(); }), refused);
  EXPECT_THAT(with([](SecretRecord& changed) { changed.hosts = R"(["evil.example.org"])"; }), refused);
  EXPECT_THAT(with([](SecretRecord& changed) { changed.places = R"(["query"])"; }), refused);
  EXPECT_THAT(with([](SecretRecord& changed) { changed.use = "env"; }), refused);
  EXPECT_THAT(with([](SecretRecord& changed) { changed.name = "OTHER"; }), refused);
}

TEST_F(SecretsTest, SaysThatTheKeyIsMissingOrAnother) {
  set(env(), kValue);
  const std::string key = sys::read_file(path("secrets.key")).value();
  close();
  fs::remove(path("secrets.key"));
  open();
  EXPECT_THAT(text(), HasSubstr("unavailable: secrets cannot be read: their key is missing"));
  EXPECT_THAT(why(secrets_->set(env("MORE"), kValue)), HasSubstr("unavailable"));
  EXPECT_THAT(why(secrets_->rotate()), HasSubstr("unavailable"));
  EXPECT_FALSE(sys::exists(path("secrets.key"))) << "a new key would hide that the old one is gone";
  close();
  sys::write_file(path("secrets.key"), std::string(32, 'x'), 0600).value();
  open();
  EXPECT_THAT(text(), HasSubstr("unavailable: secrets cannot be read: their key is not the one"));
  EXPECT_EQ(secrets_->list(kDefaultProject, "").value().size(), 1u);
  close();
  sys::write_file(path("secrets.key"), key, 0600).value();
  open();
  EXPECT_EQ(text(), kValue);
}

TEST_F(SecretsTest, BeginsAnewOnceAllSecretsAreRemoved) {
  set(env(), kValue);
  close();
  fs::remove(path("secrets.key"));
  open();
  EXPECT_TRUE(secrets_->remove(kDefaultProject, "", "TOKEN"));
  set(env(), "another value");
  open();
  EXPECT_EQ(text(), "another value");
}

TEST_F(SecretsTest, RefusesAKeyThatOthersMayHave) {
  set(env(), kValue);
  const std::string key = path("secrets.key"), other = path("other");
  auto refusal = [&] {
    open();
    return text();
  };
  ::chmod(key.c_str(), 0640);
  EXPECT_THAT(refusal(), HasSubstr("others may read or write it"));
  ::chmod(key.c_str(), 0600);
  fs::create_hard_link(key, other);
  EXPECT_THAT(refusal(), HasSubstr("it has another name, too"));
  fs::remove(key);
  fs::create_symlink(other, key);
  EXPECT_THAT(refusal(), HasSubstr("is a link"));
  fs::remove(key);
  ::mkfifo(key.c_str(), 0600);
  EXPECT_THAT(refusal(), HasSubstr("it is no file"));
  fs::remove(key);
  sys::write_file(key, "short", 0600).value();
  EXPECT_THAT(refusal(), HasSubstr("wrong size"));
  if (::geteuid() == 0) {
    fs::remove(key);
    fs::rename(other, key);
    ASSERT_EQ(::chown(key.c_str(), 1, 1), 0);
    EXPECT_THAT(refusal(), HasSubstr("another user's"));
  }
}

TEST_F(SecretsTest, RotatesTheKeyAndKeepsTheRest) {
  set(env(), kValue);
  set(brokered("OTHER"), kToken);
  const std::string key = sys::read_file(path("secrets.key")).value();
  const std::string placeholder = value("OTHER").value().placeholder;
  const std::string derived = secrets_->derive("a purpose").value();
  EXPECT_TRUE(secrets_->rotate());
  EXPECT_NE(sys::read_file(path("secrets.key")).value(), key);
  EXPECT_FALSE(sys::exists(path("secrets.key.new")));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(text(), kValue);
    EXPECT_EQ(text("OTHER"), kToken);
    EXPECT_EQ(value("OTHER").value().placeholder, placeholder);
    EXPECT_EQ(secrets_->derive("a purpose").value(), derived) << "sandboxes trust what follows from it";
    open();
  }
  close();
  sys::write_file(path("secrets.key"), key, 0600).value();
  open();
  EXPECT_THAT(text(), HasSubstr("is not the one"));
}

TEST_F(SecretsTest, DerivesDifferentKeysForDifferentPurposes) {
  const std::string one = secrets_->derive("one").value();
  EXPECT_EQ(one.size(), 32u);
  EXPECT_NE(one, secrets_->derive("two").value());
  EXPECT_NE(one, sys::read_file(path("secrets.key")).value());
  open();
  EXPECT_EQ(secrets_->derive("one").value(), one);
}

// Not a test: what the child does.
TEST(SecretsCrash, DISABLED_Rotate) {
  const char* folder = std::getenv(kFolder.data());
  ASSERT_NE(folder, nullptr);
  auto store = Store::open(folder).value();
  ASSERT_TRUE(Secrets::open(*store, folder).value()->rotate());
}

// Whatever moment a rotation is killed at, all secrets can be read, and the next rotation goes through.
TEST_F(SecretsTest, SurvivesThatARotationIsKilled) {
  set(env(), kValue);
  set(brokered("OTHER"), kToken);
  const std::string derived = secrets_->derive("a purpose").value();
  for (const char* point : {"secrets.rotate.staged", "store.reseal_secrets.before_commit",
                            "store.reseal_secrets.after_commit", "secrets.rotate.sealed", "secrets.rotate.done"}) {
    SCOPED_TRACE(point);
    close();
    test::ChildOptions options;
    options.env = {concat(kFolder, "=", folder_), concat("COVE_CRASH_AT=", point)};
    ASSERT_EQ(
        test::run({"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=*DISABLED_Rotate"}, options)
            .exit_code,
        128 + 9);
    for (int i = 0; i < 2; ++i) {
      open();
      EXPECT_EQ(text(), kValue);
      EXPECT_EQ(text("OTHER"), kToken);
      EXPECT_EQ(secrets_->derive("a purpose").value(), derived);
    }
    EXPECT_FALSE(sys::exists(path("secrets.key.new")));
    EXPECT_TRUE(secrets_->rotate());
    EXPECT_EQ(text(), kValue);
  }
}

TEST_F(SecretsTest, TakesTheKeyFromACredential) {
  set(env(), kValue);  // with a key of its own, before there is a credential
  const std::string one = path("one"), two = path("two");
  sys::write_file(one, "0123456789abcdef0123456789abcdef one\n", 0400).value();
  sys::write_file(two, "0123456789abcdef0123456789abcdef two\n", 0400).value();
  places_ = {folder_, one, ""};
  open();
  EXPECT_EQ(text(), kValue);
  fs::remove(path("secrets.key"));
  open();
  EXPECT_EQ(text(), kValue);
  EXPECT_THAT(why(secrets_->rotate()), HasSubstr("unsupported"));
  places_ = {folder_, two, ""};
  open();
  EXPECT_THAT(text(), HasSubstr("is not the one"));
  places_ = {folder_, two, one};
  open();
  EXPECT_EQ(text(), kValue);
  places_ = {folder_, two, ""};
  open();
  EXPECT_EQ(text(), kValue);
  EXPECT_FALSE(sys::exists(path("secrets.key")));
  sys::write_file(two, "too short", 0600).value();
  open();
  EXPECT_THAT(text(), HasSubstr("shorter than 32 bytes"));
}

}  // namespace
}  // namespace cove
