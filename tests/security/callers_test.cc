// A coved that was taken over, and asks cove-spawn for what its caller could not have. The test plays coved, in a
// process of its own; cove-spawn is a child.
#include "spawn/callers.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <future>

#include "spawn/client.h"
#include "spawn/server.h"
#include "support/child.h"
#include "sys/file.h"

namespace cove::test {
namespace {

using spawn::Type;

constexpr unsigned kOrdinary = 12345;
constexpr unsigned kGroup = 23456;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

UniqueFd make_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

void bind_to(int socket, const std::string& path) {
  sockaddr_un address = address_of(path);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << path;
}

UniqueFd listen_at(const std::string& path) {
  UniqueFd socket = make_socket();
  bind_to(socket.get(), path);
  EXPECT_EQ(::chmod(path.c_str(), 0777), 0);
  EXPECT_EQ(::listen(socket.get(), 8), 0);
  return socket;
}

void connect_to(int socket, const std::string& path) {
  sockaddr_un address = address_of(path);
  ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

class TakenOver : public testing::Test {
 protected:
  void SetUp() override {
    COVE_NEEDS_ROOT();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
    for (const char* name : {"/closed", "/groups", "/open"})
      ASSERT_EQ(::mkdir((folder_ + name).c_str(), name == std::string("/open") ? 0755 : 0750), 0);
    ASSERT_EQ(::chown((folder_ + "/groups").c_str(), 0, kGroup), 0);
    own_ = listen_at(folder_ + "/own");
    other_ = listen_at(folder_ + "/other");
  }
  void TearDown() override {
    client_.reset();
    if (spawn_ > 0) ::waitpid(spawn_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }

  void start_spawn() {
    sys::SocketPair channel = *sys::socketpair(SOCK_SEQPACKET);
    spawn_ = ::fork();
    if (spawn_ == 0) {
      channel.first.reset();
      ::setenv("COVE_STATE", (folder_ + "/state").c_str(), 1);
      Result<native::Places> places = native::find_places();
      Result<spawn::Callers> callers = spawn::Callers::of({own_.get()});
      if (!places || !callers) ::_exit(1);
      spawn::SpawnServer server(std::move(channel.second), native::SandboxFactory(*places, native::IdRanges::Shared),
                                {}, {}, std::move(*callers));
      static_cast<void>(server.run(-1));
      ::_exit(0);
    }
    channel.second.reset();
    client_ = spawn::SpawnClient::create(std::move(channel.first), [] {});
  }

  // A connection that a user of this machine has made and that was accepted at `listener`.
  UniqueFd accepted_from(unsigned uid, std::vector<gid_t> groups, const std::string& path, int listener) {
    pid_t pid = ::fork();
    if (pid == 0) {
      bool became = ::setgroups(groups.size(), groups.data()) == 0 && ::setresgid(uid, uid, uid) == 0 &&
                    ::setresuid(uid, uid, uid) == 0;
      sockaddr_un address = address_of(path);
      UniqueFd socket = make_socket();
      ::_exit(became && ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? 0 : 1);
    }
    UniqueFd accepted(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    return accepted;
  }
  UniqueFd caller(unsigned uid, std::vector<gid_t> groups = {}) {
    return accepted_from(uid, std::move(groups), folder_ + "/own", own_.get());
  }

  // Whether cove-spawn opens a folder for whoever is at the other end; Denied, or what else it says.
  Result<void> look(const std::string& path, int connection) {
    wire::Writer request;
    request.text(path).number(static_cast<uint64_t>(Access::ReadOnly));
    Result<spawn::SpawnClient::Answer> answer = client_->ask(Type::PinWorkspace, request, {connection});
    return answer ? Result<void>() : std::unexpected(answer.error());
  }
  void expect_denied(int connection, const char* what) {
    Result<void> looked = look(folder_ + "/closed", connection);
    ASSERT_FALSE(looked) << what;
    EXPECT_EQ(looked.error().code(), Code::Denied) << what << ": " << looked.error().message();
  }

  std::string folder_ = "/tmp/cove-callers-XXXXXX";
  UniqueFd own_;
  UniqueFd other_;
  pid_t spawn_ = -1;
  std::shared_ptr<spawn::SpawnClient> client_;
};

TEST_F(TakenOver, GetsWhatTheCallerCouldHave) {
  start_spawn();
  EXPECT_TRUE(look(folder_ + "/closed", caller(0).get()));
  EXPECT_TRUE(look(folder_ + "/open", caller(kOrdinary).get()));
  expect_denied(caller(kOrdinary).get(), "an ordinary user's connection");
}

TEST_F(TakenOver, GroupsAreThoseOfTheCallersProcess) {
  start_spawn();
  EXPECT_TRUE(look(folder_ + "/groups", caller(kOrdinary, {kGroup}).get()));
  EXPECT_FALSE(look(folder_ + "/groups", caller(kOrdinary).get()));
}

// At the client's end the kernel names whoever listens, which is root.
TEST_F(TakenOver, CannotPassOffAClientsEnd) {
  start_spawn();
  UniqueFd to_own = make_socket();
  connect_to(to_own.get(), folder_ + "/own");
  expect_denied(to_own.get(), "the client's end of a connection to the server's own socket");
  UniqueFd to_other = make_socket();
  connect_to(to_other.get(), folder_ + "/other");
  expect_denied(to_other.get(), "the client's end of a connection to another socket of root's");
  UniqueFd named = make_socket();
  bind_to(named.get(), folder_ + "/name");
  connect_to(named.get(), folder_ + "/own");
  expect_denied(named.get(), "the client's end, with a name of its own");
}

// The name of the server's socket can be given to another one, where that is out of the way.
TEST_F(TakenOver, CannotPassOffAClientsEndUnderTheServersName) {
  start_spawn();
  UniqueFd named = make_socket();
  ASSERT_EQ(::rename((folder_ + "/own").c_str(), (folder_ + "/moved").c_str()), 0);
  bind_to(named.get(), folder_ + "/own");
  connect_to(named.get(), folder_ + "/moved");
  expect_denied(named.get(), "a client's end that has the name of the server's socket");
  EXPECT_TRUE(look(folder_ + "/closed", accepted_from(0, {}, folder_ + "/moved", own_.get()).get()));
}

TEST_F(TakenOver, CannotPassOffOtherSockets) {
  start_spawn();
  expect_denied(own_.get(), "the listening socket itself");
  expect_denied(accepted_from(0, {}, folder_ + "/other", other_.get()).get(), "accepted at another socket");
  sys::SocketPair pair = *sys::socketpair(SOCK_STREAM);
  expect_denied(pair.first.get(), "an end of a pair that root has made");
  UniqueFd tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  expect_denied(tcp.get(), "not a Unix socket");
  sys::Pipe pipe = *sys::pipe();
  EXPECT_FALSE(look(folder_ + "/closed", pipe.read.get()));
}

// A file system whose server never answers: a FUSE mount without one.
TEST_F(TakenOver, WorkspaceThatDoesNotAnswerKeepsNobodyElseWaiting) {
  const std::string hung = folder_ + "/hung";
  UniqueFd fuse(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!fuse) GTEST_SKIP() << "this test needs /dev/fuse";
  ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
  ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  ASSERT_EQ(::mkdir(hung.c_str(), 0755), 0);
  std::string options = "fd=" + std::to_string(fuse.get()) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  ASSERT_EQ(::mount("hung", hung.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()), 0);
  start_spawn();
  UniqueFd first = caller(0), second = caller(0);
  auto waiting = std::async(std::launch::async, [&] { return look(hung, first.get()); });
  EXPECT_TRUE(look(folder_ + "/closed", second.get()));
  Result<void> looked = waiting.get();
  ASSERT_FALSE(looked);
  EXPECT_NE(looked.error().message().find("timed out"), std::string::npos) << looked.error().message();
  EXPECT_EQ(::umount2(hung.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace cove::test
