#include "image/host_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cstdlib>

#include "base/text.h"
#include "image/etc.h"
#include "image/fingerprint.h"
#include "sys/file.h"

namespace cove {
namespace {

using ::testing::EndsWith;
using ::testing::Not;
using ::testing::StartsWith;

class HostImage : public ::testing::Test {
 protected:
  HostImage() {
    char folder[] = "/tmp/cove-image-XXXXXX";
    folder_ = ::mkdtemp(folder);
    cache_ = folder_ + "/cache";
    sudo_ = folder_ + "/sudo-client";
    EXPECT_TRUE(sys::write_file(sudo_, "the client", 0600));
  }
  ~HostImage() override { EXPECT_TRUE(sys::remove_tree(folder_)); }

  // Nobody holds it afterwards.
  ImageRoot image() {
    UniqueFd hold;
    auto made = host_image(cache_, sudo_, hold);
    EXPECT_TRUE(made) << made.error().message();
    return made ? *made : ImageRoot{};
  }

  static mode_t mode(const std::string& path) {
    auto info = sys::lstat(path);
    return info ? info->st_mode & 07777 : 0;
  }

  std::vector<std::string> cached() { return sys::list_folder(cache_ + "/host").value_or(std::vector<std::string>{}); }

  std::string folder_, cache_, sudo_;
};

// Makes a folder look as if nobody had used it for days.
void age(const std::string& path, time_t days) {
  struct timeval then[2] = {};
  then[0].tv_sec = then[1].tv_sec = ::time(nullptr) - days * 24 * 3600;
  ASSERT_EQ(::utimes(path.c_str(), then), 0);
}

TEST_F(HostImage, IsNamedAfterItsFingerprint) {
  ImageRoot made = image();
  EXPECT_THAT(made.reference, StartsWith("host@"));
  EXPECT_EQ(made.reference.size(), 5u + 16u);
  EXPECT_THAT(made.folder, EndsWith(made.reference.substr(5)));
}

TEST_F(HostImage, IsMadeOnceAndFoundAgain) {
  ImageRoot first = image();
  auto made = sys::stat(first.folder + "/root");
  ImageRoot second = image();
  EXPECT_EQ(first.reference, second.reference);
  EXPECT_EQ(made->st_ino, sys::stat(second.folder + "/root")->st_ino);
}

TEST_F(HostImage, StacksAFolderOfOursOverEveryFolderOfTheHost) {
  ImageRoot made = image();
  ASSERT_GE(made.mounts.size(), 2u);
  EXPECT_EQ(made.mounts[0].target, "");
  EXPECT_FALSE(made.mounts[0].foreign);
  for (size_t i = 1; i < made.mounts.size(); ++i) {
    const ImageMount& mount = made.mounts[i];
    EXPECT_TRUE(mount.foreign);
    ASSERT_EQ(mount.lowers.size(), 2u);
    EXPECT_THAT(mount.lowers[0], StartsWith(made.folder));
    EXPECT_EQ(mount.lowers[1], "/" + mount.target);
    EXPECT_TRUE(sys::exists(made.folder + "/root/" + mount.target));
  }
}

TEST_F(HostImage, PutsTheSudoClientIntoUsr) {
  ImageRoot made = image();
  std::string sudo = made.folder + "/over/usr/bin/sudo";
  EXPECT_EQ(*sys::read_file(sudo), "the client");
  EXPECT_EQ(mode(sudo), 0755u);
}

TEST_F(HostImage, HasWhatFiguresAreWrittenWith) {
  EXPECT_THAT(*sys::list_folder(image().folder + "/root/.cove/python"),
              ::testing::UnorderedElementsAre("cove_figures.py", "sitecustomize.py"));
}

TEST_F(HostImage, HasNoSudoWithoutAClient) {
  UniqueFd hold;
  auto made = host_image(cache_, "", hold);
  ASSERT_TRUE(made);
  EXPECT_FALSE(sys::exists(made->folder + "/over/usr/bin/sudo"));
}

TEST_F(HostImage, HasExactModesWhateverTheUmask) {
  mode_t before = ::umask(0077);
  ImageRoot made = image();
  ::umask(before);
  std::string root = made.folder + "/root";
  EXPECT_EQ(mode(root), 0755u);
  EXPECT_EQ(mode(root + "/tmp"), 01777u);
  EXPECT_EQ(mode(root + "/var/tmp"), 01777u);
  EXPECT_EQ(mode(root + "/root"), 0700u);
  EXPECT_EQ(mode(root + "/etc/passwd"), 0644u);
  EXPECT_EQ(mode(made.dev), 0755u);
  EXPECT_EQ(mode(made.dev + "/null"), 0666u);
}

TEST_F(HostImage, IsHiddenFromOtherUsersOfTheMachine) {
  image();
  EXPECT_EQ(mode(cache_ + "/host"), 0700u);
}

TEST_F(HostImage, BelongsToTheIdsInside) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ImageRoot made = image();
  EXPECT_EQ(sys::lstat(made.folder + "/root/etc")->st_uid, 0u);
  EXPECT_EQ(sys::lstat(made.folder + "/root/home/user")->st_uid, 1000u);
  EXPECT_EQ(sys::lstat(made.folder + "/root/home/user")->st_gid, 1000u);
}

TEST_F(HostImage, HasDevicesOrPlaceholdersForThem) {
  ImageRoot made = image();
  for (const char* name : kDevices) {
    auto info = sys::lstat(concat(made.dev, "/", std::string_view(name)));
    ASSERT_TRUE(info);
    bool real = made.dev_nodes == DevNodes::Real;
    EXPECT_TRUE(real ? S_ISCHR(info->st_mode) : S_ISREG(info->st_mode)) << name;
  }
  EXPECT_EQ(*sys::readlink(made.dev + "/fd"), "/proc/self/fd");
  EXPECT_EQ(*sys::readlink(made.dev + "/ptmx"), "pts/ptmx");
}

TEST_F(HostImage, ShowsNothingOfTheHostsSecretsAndNames) {
  std::string etc = image().folder + "/root/etc";
  for (const char* name : {"shadow", "gshadow", "sudoers", "ssh", "pam.d", "ssl/private", "npmrc", "pip.conf"})
    EXPECT_FALSE(sys::exists(concat(etc, "/", std::string_view(name)))) << name;
  EXPECT_EQ(*sys::read_file(etc + "/gitconfig"), kGitConfig);
  EXPECT_EQ(*sys::read_file(etc + "/machine-id"), "");
  EXPECT_EQ(*sys::read_file(etc + "/hostname"), "sandbox\n");
}

TEST_F(HostImage, ChangesWithTheSudoClient) {
  std::string before = image().reference;
  ASSERT_TRUE(sys::write_file(sudo_, "a newer client"));
  EXPECT_NE(image().reference, before);
}

TEST_F(HostImage, CleansUpAfterAKilledBuilder) {
  ASSERT_TRUE(sys::make_folders(cache_ + "/host/tmp-0123456789abcdef/root"));
  image();
  EXPECT_THAT(cached(), Not(::testing::Contains(StartsWith("tmp-"))));
}

TEST_F(HostImage, IsTouchedWhenUsed) {
  std::string folder = image().folder;
  age(folder, 3);
  image();
  EXPECT_LT(::time(nullptr) - sys::stat(folder)->st_mtime, 24 * 3600);
}

TEST_F(HostImage, CanBeMadeByManyProcessesAtOnce) {
  std::vector<pid_t> children;
  UniqueFd hold;
  for (int i = 0; i < 8; ++i) {
    pid_t child = ::fork();
    if (child == 0) ::_exit(host_image(cache_, sudo_, hold) ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT(cached(), ::testing::SizeIs(2));  // the image and the lock
}

TEST_F(HostImage, RefusesACacheThatOthersCanWriteTo) {
  ASSERT_TRUE(sys::make_folders(cache_));
  ASSERT_EQ(::chmod(cache_.c_str(), 0777), 0);
  UniqueFd hold;
  auto made = host_image(cache_, sudo_, hold);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Code::Denied);
  EXPECT_FALSE(made.error().hint().empty());
}

TEST_F(HostImage, RefusesACacheOfSomeoneElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_TRUE(sys::make_folders(cache_));
  ASSERT_EQ(::chown(cache_.c_str(), 12345, 12345), 0);
  UniqueFd hold;
  EXPECT_FALSE(host_image(cache_, sudo_, hold));
}

TEST_F(HostImage, RefusesALinkInPlaceOfTheCache) {
  ASSERT_TRUE(sys::make_folders(folder_ + "/elsewhere"));
  ASSERT_TRUE(sys::symlink(folder_ + "/elsewhere", cache_));
  UniqueFd hold;
  EXPECT_FALSE(host_image(cache_, sudo_, hold));
}

TEST(Fingerprint, ChangesWithThePackageDatabase) {
  char name[] = "/tmp/cove-fingerprint-XXXXXX";
  std::string root = ::mkdtemp(name);
  std::string empty = host_fingerprint(root, "");
  ASSERT_TRUE(sys::make_folders(root + "/var/lib/dpkg"));
  ASSERT_TRUE(sys::write_file(root + "/var/lib/dpkg/status", "one"));
  std::string first = host_fingerprint(root, "");
  EXPECT_NE(first, empty);
  EXPECT_EQ(first, host_fingerprint(root, ""));
  ASSERT_TRUE(sys::write_file(root + "/var/lib/dpkg/status", "one and another"));
  EXPECT_NE(host_fingerprint(root, ""), first);
  ASSERT_TRUE(sys::remove_tree(root));
}

TEST(CacheFolder, FollowsTheEnvironment) {
  ::setenv("COVE_CACHE", "/somewhere/else", 1);
  EXPECT_EQ(*cache_folder(), "/somewhere/else");
  ::setenv("COVE_CACHE", "relative", 1);
  EXPECT_FALSE(cache_folder());
  ::unsetenv("COVE_CACHE");
  auto folder = cache_folder();
  ASSERT_TRUE(folder);
  EXPECT_THAT(*folder, EndsWith("/cove"));
}

}  // namespace
}  // namespace cove
