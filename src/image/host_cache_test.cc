#include "image/host_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include "base/text.h"
#include "image/host_image.h"
#include "sys/file.h"

namespace cove {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

class HostCache : public ::testing::Test {
 protected:
  HostCache() {
    char folder[] = "/tmp/cove-host-cache-XXXXXX";
    folder_ = ::mkdtemp(folder);
    host_ = folder_ + "/cache/host";
  }
  ~HostCache() override { EXPECT_TRUE(sys::remove_tree(folder_)); }

  // Something with the name of an image, used after those before it.
  std::string add(int files = 3) {
    std::string name = concat("00000000000", 10000 + ++count_);
    std::string image = concat(host_, "/", name);
    EXPECT_TRUE(sys::make_folders(image + "/dev"));
    for (int i = 0; i < files; ++i) EXPECT_TRUE(sys::write_file(concat(image, "/", i), "x"));
    struct timespec used[2] = {{1'000'000 + count_, 0}, {1'000'000 + count_, 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, image.c_str(), used, 0), 0);
    return name;
  }
  std::vector<std::string> add_many(size_t number, int files = 3) {
    std::vector<std::string> names;
    for (size_t i = 0; i < number; ++i) names.push_back(add(files));
    return names;
  }

  std::vector<std::string> cached() { return sys::list_folder(host_).value_or(std::vector<std::string>{}); }

  std::string folder_, host_;
  int count_ = 0;
};

// A process that has a part of an image mounted, and holds nothing: like process 1 of a sandbox whose maker is gone.
class Shower {
 public:
  explicit Shower(const std::string& image) {
    sys::Pipe ready = *sys::pipe();
    pid_ = ::fork();
    if (pid_ == 0) {
      std::string dev = image + "/dev";
      const int user = ::geteuid() == 0 ? 0 : CLONE_NEWUSER;
      bool shown = ::unshare(user | CLONE_NEWNS) == 0 &&
                   ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   ::mount(dev.c_str(), dev.c_str(), nullptr, MS_BIND, nullptr) == 0;
      static_cast<void>(sys::write_all(ready.write.get(), shown ? "y" : "n"));
      for (;;) ::pause();
    }
    ready.write.reset();
    EXPECT_EQ(*sys::read_all(ready.read.get(), 1), "y");
  }
  ~Shower() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

TEST_F(HostCache, KeepsTheCurrentImageAndThoseThatWereUsedLast) {
  std::string current = add();
  std::vector<std::string> others = add_many(kSpareHostImages + 3);
  prune_host_images(host_, current);
  others.erase(others.begin(), others.begin() + 3);
  others.push_back(current);
  EXPECT_THAT(cached(), ::testing::UnorderedElementsAreArray(others));
}

TEST_F(HostCache, KeepsWhatSomeoneHolds) {
  std::string old = add();
  auto hold = hold_host_image(concat(host_, "/", old));
  ASSERT_TRUE(hold) << hold.error().message();
  add_many(kSpareHostImages + 2);
  prune_host_images(host_, "");
  EXPECT_THAT(cached(), ::testing::SizeIs(kSpareHostImages + 1));
  EXPECT_THAT(cached(), Contains(old));
  hold->reset();
  prune_host_images(host_, "");
  EXPECT_THAT(cached(), Not(Contains(old)));
}

TEST_F(HostCache, KeepsWhatASandboxShows) {
  std::string old = add();
  add_many(kSpareHostImages + 2);
  {
    Shower sandbox(concat(host_, "/", old));
    prune_host_images(host_, "");
    EXPECT_THAT(cached(), ::testing::SizeIs(kSpareHostImages + 1));
    EXPECT_THAT(cached(), Contains(old));
  }
  prune_host_images(host_, "");
  EXPECT_THAT(cached(), Not(Contains(old)));
}

TEST_F(HostCache, DoesNotKeepAStartWaitingForAllThatWasNeglected) {
  add_many(60);
  prune_host_images(host_, "");
  EXPECT_GT(cached().size(), 40u);
  EXPECT_LT(cached().size(), 60u);
  for (int i = 0; i < 10; ++i) prune_host_images(host_, "");
  EXPECT_THAT(cached(), ::testing::SizeIs(kSpareHostImages));
}

TEST_F(HostCache, ImagesThatAreGoneCannotBeHeld) {
  auto held = hold_host_image(concat(host_, "/", std::string("0123456789abcdef")));
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code(), Code::NotFound);
}

// Whatever has its name is whole, and the next one removes the rest.
TEST_F(HostCache, AKillWhileItRemovesLeavesWholeImages) {
  constexpr int kFiles = 20;
  for (int round = 0; round < 10; ++round) {
    add_many(10, kFiles);
    pid_t child = ::fork();
    if (child == 0) {
      prune_host_images(host_, "");
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(round * 500));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    for (const std::string& name : cached())
      if (!name.starts_with(kHalfMade)) {
        EXPECT_THAT(*sys::list_folder(concat(host_, "/", name)), ::testing::SizeIs(kFiles + 1));
      }
    prune_host_images(host_, "");
    EXPECT_THAT(cached(), Not(Contains(StartsWith("tmp-"))));
  }
}

// Each of them sees another image as the current one, and those of the others as old.
TEST_F(HostCache, ProgramsThatTakeTurnsDoNotTakeEachOthersImages) {
  std::vector<pid_t> children;
  add_many(kSpareHostImages);
  for (int number = 0; number < 3; ++number) {
    pid_t child = ::fork();
    if (child == 0) {
      bool whole = true;
      std::string client = concat(folder_, "/sudo", number);
      for (int turn = 0; turn < 2; ++turn) {
        whole = whole && sys::write_file(client, std::string(static_cast<size_t>(turn + 1), 'x'));
        UniqueFd hold;
        auto made = host_image(folder_ + "/cache", client, hold);
        whole = whole && made && sys::exists(made->folder + "/root/home/user") && sys::exists(made->dev + "/null");
      }
      ::_exit(whole ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace cove
