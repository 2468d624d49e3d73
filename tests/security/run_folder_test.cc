// Without XDG_RUNTIME_DIR a user's sockets are in /tmp/cove-UID, which everybody can make first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/unique_fd.h"
#include "support/child.h"

namespace cove::test {
namespace {

using testing::HasSubstr;

constexpr unsigned kUser = 12346;
constexpr unsigned kUnusedId = 12347;
const std::string kFolder = "/tmp/cove-" + std::to_string(kUser);

// Another user, who listens at a path and notes what he is sent.
class Stranger {
 public:
  // `folder` is made by him where it is missing.
  Stranger(const std::string& folder, const std::string& socket) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) ::abort();
    told_.reset(ends[0]);
    pid_ = ::fork();
    if (pid_ == 0) listen(folder, socket, ends[1]);
    ::close(ends[1]);
    char ready = 0;
    EXPECT_EQ(::read(told_.get(), &ready, 1), 1) << "the stranger could not listen at " << socket;
  }
  ~Stranger() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  // What he was sent. He is asked with a connection of the test's own, which he takes after all others.
  std::string heard(const std::string& socket) const {
    UniqueFd last(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un place = place_of(socket);
    EXPECT_EQ(::connect(last.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(::send(last.get(), "!", 1, MSG_NOSIGNAL), 1);
    std::string text;
    for (char byte; ::read(told_.get(), &byte, 1) == 1 && byte != '!';) text += byte;
    return text;
  }

 private:
  static sockaddr_un place_of(const std::string& socket) {
    sockaddr_un place = {};
    place.sun_family = AF_UNIX;
    std::memcpy(place.sun_path, socket.data(), socket.size());
    return place;
  }

  [[noreturn]] static void listen(const std::string& folder, const std::string& socket, int tell) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::setresgid(kUnusedId, kUnusedId, kUnusedId) < 0 || ::setresuid(kUnusedId, kUnusedId, kUnusedId) < 0)
      ::_exit(1);
    ::umask(0);
    ::mkdir(folder.c_str(), 0777);
    int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un place = place_of(socket);
    if (::bind(listener, reinterpret_cast<sockaddr*>(&place), sizeof place) < 0 || ::listen(listener, 64) < 0)
      ::_exit(1);
    if (::write(tell, "r", 1) != 1) ::_exit(1);
    for (;;) {
      UniqueFd caller(::accept(listener, nullptr, nullptr));
      char data[4096];
      ssize_t size = ::recv(caller.get(), data, sizeof data, 0);
      if (size > 0 && ::write(tell, data, static_cast<size_t>(size)) != size) ::_exit(1);
    }
  }

  UniqueFd told_;
  pid_t pid_ = -1;
};

class RunFolder : public testing::Test {
 protected:
  void SetUp() override {
    COVE_NEEDS_ROOT();
    std::filesystem::remove_all(kFolder);
    home_ = "/tmp/cove-test-XXXXXX";
    ASSERT_NE(::mkdtemp(home_.data()), nullptr);
    ASSERT_EQ(::chown(home_.c_str(), kUser, kUser), 0);
  }
  void TearDown() override {
    std::filesystem::remove_all(kFolder);
    if (!home_.empty()) std::filesystem::remove_all(home_);
  }

  Outcome cove(std::vector<std::string> args, const std::string& host = "") const {
    ChildOptions options;
    options.uid = kUser;
    options.cwd = home_;
    options.env = {"HOME=" + home_,    "XDG_RUNTIME_DIR=",  "XDG_CACHE_HOME=", "XDG_STATE_HOME=",  "COVE_STATE=",
                   "COVE_AUTOSTART=0", "COVE_HOST=" + host, "COVE_API_KEY=",   "TOKEN=the-secret", "COVE_CACHE="};
    return test::cove(std::move(args), options);
  }

  static void expect_refusal(const Outcome& outcome) {
    EXPECT_NE(outcome.exit_code, 0) << outcome.out;
    EXPECT_FALSE(outcome.timed_out);
    EXPECT_THAT(outcome.err, HasSubstr(kFolder));
    EXPECT_THAT(outcome.err, HasSubstr("XDG_RUNTIME_DIR"));
  }

  std::string home_;
};

TEST_F(RunFolder, OfAnotherUserIsNotUsedByAClient) {
  Stranger stranger(kFolder, kFolder + "/api.sock");
  expect_refusal(cove({"ls"}));
  expect_refusal(cove({"run", "-e", "TOKEN", "--", "true"}));
  EXPECT_EQ(stranger.heard(kFolder + "/api.sock"), "");
}

TEST_F(RunFolder, OfAnotherUserIsNotUsedByAServer) {
  ASSERT_EQ(::mkdir(kFolder.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(kFolder.c_str(), 0777), 0);
  ASSERT_EQ(::chown(kFolder.c_str(), kUnusedId, kUnusedId), 0);
  expect_refusal(cove({"serve"}));
  EXPECT_TRUE(std::filesystem::is_empty(kFolder));
}

TEST_F(RunFolder, OfAnotherUserIsNotUsedByADirectRun) {
  ASSERT_EQ(::mkdir(kFolder.c_str(), 0755), 0);
  ASSERT_EQ(::chown(kFolder.c_str(), kUnusedId, kUnusedId), 0);
  expect_refusal(cove({"run", "--direct", "--", "true"}));
}

TEST_F(RunFolder, ThatIsALinkIsNotUsed) {
  std::filesystem::create_directory_symlink(home_, kFolder);
  ASSERT_EQ(::lchown(kFolder.c_str(), kUnusedId, kUnusedId), 0);
  expect_refusal(cove({"ls"}));
  expect_refusal(cove({"run", "--direct", "--", "true"}));
  expect_refusal(cove({"serve"}));
}

TEST_F(RunFolder, ThatOthersCanWriteToIsNotUsed) {
  ASSERT_EQ(::mkdir(kFolder.c_str(), 0777), 0);
  ASSERT_EQ(::chown(kFolder.c_str(), kUser, kUser), 0);
  ASSERT_EQ(::chmod(kFolder.c_str(), 0777), 0);
  expect_refusal(cove({"ls"}));
  expect_refusal(cove({"run", "--direct", "--", "true"}));
}

// Wherever the socket is: what is sent to it are commands, variables and keys.
TEST_F(RunFolder, AServerOfAnotherUserIsToldNothing) {
  const std::string folder = kFolder + "-of-a-stranger";
  Stranger stranger(folder, folder + "/api.sock");
  Outcome outcome = cove({"run", "-e", "TOKEN", "--", "true"}, "unix:" + folder + "/api.sock");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("belongs to user " + std::to_string(kUnusedId)));
  EXPECT_EQ(stranger.heard(folder + "/api.sock"), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cove::test
