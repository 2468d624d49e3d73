// What a sandbox leaves in its layer, when it is started again: the builder works there with more rights than it had.
#include "security/own_server.h"

namespace cove::test {
namespace {

class LeftBehind : public OwnServer {};

TEST_P(LeftBehind, LinkAtEtcHostsIsNotFollowed) {
  const std::string victim = make_victim();
  write(victim + "/file", "untouched");
  ASSERT_EQ(::chmod((victim + "/file").c_str(), 0666), 0);
  create();
  for (const std::string target : {"file", "new"}) {
    inside("ln -sfn " + seen_by_builder(victim) + "/" + target + " /etc/hosts");
    start_again();
    start_all_again();
  }
  EXPECT_EQ(read(victim + "/file"), "untouched");
  EXPECT_FALSE(std::filesystem::exists(victim + "/new"));
  EXPECT_EQ(inside("readlink /etc/hosts"), seen_by_builder(victim) + "/new\n");
}

TEST_P(LeftBehind, LinkInThePlaceOfEtcIsNotFollowed) {
  const std::string victim = make_victim();
  write(victim + "/hosts", "untouched");
  ASSERT_EQ(::chmod((victim + "/hosts").c_str(), 0666), 0);
  create();
  // Without the folder there are no names of users: what is left of the test goes by number.
  inside("cp -a /etc /old && rm -rf /etc && ln -s " + seen_by_builder(victim) + " /etc");
  ASSERT_EQ(cove({"stop", "box"}).exit_code, 0);
  ASSERT_EQ(cove({"start", "box"}).exit_code, 0);
  EXPECT_EQ(read(victim + "/hosts"), "untouched");
}

TEST_P(LeftBehind, FifoOrFolderAtEtcHostsKeepsNothingWaiting) {
  create();
  inside("rm /etc/hosts && mkfifo /etc/hosts");
  start_again();
  inside("rm /etc/hosts && mkdir /etc/hosts");
  start_again();
  EXPECT_EQ(cove({"rm", "-f", "box"}).exit_code, 0);
}

TEST_P(LeftBehind, HostsFileIsTheSandboxsOwn) {
  create();
  EXPECT_NE(inside("cat /etc/hosts").find("box"), std::string::npos);
  inside("echo 10.0.0.1 mine >> /etc/hosts");
  start_all_again();
  EXPECT_NE(inside("cat /etc/hosts").find("10.0.0.1 mine"), std::string::npos);
}

TEST_P(LeftBehind, LinkAtWorkIsNotFollowed) {
  const std::string victim = make_victim();
  make_folder(victim + "/incompat/volatile");
  write(victim + "/incompat/volatile/dirty", "untouched");
  create();
  inside("ln -s " + seen_by_builder(victim) + " /work");
  start_again();
  start_all_again();
  EXPECT_EQ(read(victim + "/incompat/volatile/dirty"), "untouched");
}

TEST_P(LeftBehind, FilesAtWorkAreTheSandboxsOwn) {
  create();
  inside("touch /work");
  start_again();
  inside("rm /work && mkdir -p /work/incompat/volatile && touch /work/incompat/volatile/dirty");
  start_all_again();
  EXPECT_EQ(inside("ls /work/incompat/volatile"), "dirty\n");
}

TEST_P(LeftBehind, LinksInThePlaceOfFoldersAreNotMountedOn) {
  create();
  // As an ordinary user a folder with something mounted in it cannot be moved inside.
  if (!rootless()) inside("mv /opt /old-opt && ln -s /proc /opt");
  inside("mv /tmp /old-tmp && ln -s / /tmp");
  start_all_again();
  EXPECT_EQ(inside("readlink /tmp"), "/\n");
}

COVE_FOR_EVERYBODY(LeftBehind);

}  // namespace
}  // namespace cove::test
