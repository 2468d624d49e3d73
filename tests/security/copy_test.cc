// Files that are copied in and out: a hostile program chooses their names and kinds.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "security/host.h"
#include "security/walls.h"

namespace cove::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> names_below(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names.push_back(fs::relative(entry.path(), folder));
  std::sort(names.begin(), names.end());
  return names;
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Copies : public InEveryMode {
 protected:
  // A folder that whoever runs Cove can write to, gone after the test.
  std::string folder(const std::string& name) {
    std::string path = Host::get().folder() + "/" + mode_name(GetParam()) + "-" + name;
    fs::remove_all(path);
    fs::create_directory(path);
    fs::permissions(path, fs::perms::all);
    folders_.push_back(path);
    return path;
  }
  Outcome copy_out(const std::string& script, const std::string& glob, const std::string& folder) {
    return inside({}, {"sh", "-c", script}, {"-w", "/tmp", "--copy-out", glob + ":" + folder});
  }
  void TearDown() override {
    for (const std::string& path : folders_) fs::remove_all(path);
  }

 private:
  std::vector<std::string> folders_;
};

TEST_P(Copies, NeverFollowALinkOut) {
  std::string out = folder("out");
  copy_out("ln -s /etc/passwd result; ln -s /proc/1/root/etc/shadow result2; ln -s $HOST_FILE_OPT result3", "result*",
           out);
  EXPECT_THAT(names_below(out), IsEmpty());
}

TEST_P(Copies, NeverFollowALinkInAFolder) {
  std::string out = folder("out");
  copy_out("mkdir d; ln -s /etc d/etc; ln -s ../../../../etc/shadow d/shadow; ln -s . d/loop; echo x > d/plain", "d",
           out);
  EXPECT_THAT(names_below(out), ElementsAre("d", "d/plain"));
}

TEST_P(Copies, LeaveOutWhatIsNoFile) {
  std::string out = folder("out");
  Outcome outcome = copy_out(
      "mkfifo d-fifo; mkdir d-folder; mkfifo d-folder/fifo; "
      "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"d-socket\")'",
      "d-*", out);
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_THAT(names_below(out), ElementsAre("d-folder"));
}

TEST_P(Copies, TakeNothingFromDevicesAndTheKernel) {
  std::string out = folder("out");
  for (const char* glob : {"/dev/*", "/proc/1/*", "/proc/kcore", "/proc/kmsg"}) {
    Outcome outcome = inside({}, {"true"}, {"--copy-out", std::string(glob) + ":" + out, "--timeout", "20"});
    EXPECT_FALSE(outcome.timed_out) << glob;
  }
  for (const char* name : {"null", "zero", "environ", "mem", "kcore", "kmsg", "root"})
    EXPECT_FALSE(fs::exists(out + "/" + name)) << name;
}

TEST_P(Copies, TakeHostileNamesAsTheyAre) {
  std::string out = folder("out");
  copy_out("mkdir d; cd d; for n in '...' '-rf' '*' 'a\nb' '\\' '$(id)' ' ' '~root'; do echo x > \"$n\"; done", "d",
           out);
  EXPECT_EQ(names_below(out).size(), 9u);
  EXPECT_TRUE(fs::exists(out + "/d/a\nb"));
}

TEST_P(Copies, StayInTheirFolder) {
  std::string out = folder("out");
  copy_out("mkdir -p a/b; echo x > a/file; cd a/b", "a/b/../../../../../../../../../tmp/a/file", out);
  EXPECT_THAT(names_below(out), ElementsAre("file"));
}

TEST_P(Copies, BringNoSetuidFilesOut) {
  std::string out = folder("out");
  copy_out("cp /bin/true result; chmod 6777 result", "result", out);
  struct stat info = {};
  ASSERT_EQ(::stat((out + "/result").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07022, 0u);
}

TEST_P(Copies, OverwriteNoLinkOnTheHost) {
  std::string out = folder("out");
  std::string victim = folder("other") + "/victim";
  std::ofstream(victim) << "unharmed";
  fs::permissions(victim, fs::perms::all);
  fs::create_symlink(victim, out + "/result");
  fs::create_directory_symlink(fs::path(victim).parent_path(), out + "/folder");
  copy_out("echo x > result", "result", out);
  copy_out("mkdir folder; echo x > folder/victim", "folder", out);
  EXPECT_EQ(content(victim), "unharmed");
}

// The program may write to the folder that is copied to, and leaves a fifo there.
TEST_P(Copies, DoNotWaitForAFifoOnTheHost) {
  std::string out = folder("out");
  ASSERT_EQ(::mkfifo((out + "/result").c_str(), 0666), 0);
  ASSERT_EQ(::chmod((out + "/result").c_str(), 0666), 0);
  ChildOptions options;
  options.patience = std::chrono::seconds(10);
  options.cwd = Host::get().folder();
  Outcome outcome = test::run(
      command_line({GetParam(), {"-w", "/tmp", "--copy-out", "result:" + out}, {}, {"sh", "-c", "echo x > result"}}),
      options);
  EXPECT_FALSE(outcome.timed_out);
}

TEST_P(Copies, InTakeLinksAsLinks) {
  std::string in = folder("in");
  fs::create_symlink(Host::get().settings().at("HOST_FILE_TMP"), in + "/link");
  Outcome outcome = inside({}, {"sh", "-c", "ls -l /tmp/in/link; cat /tmp/in/link"}, {"--copy-in", in + ":/tmp/in"});
  EXPECT_THAT(outcome.out, HasSubstr("link ->")) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("top secret")));
}

TEST_P(Copies, InStayInside) {
  std::string in = folder("in");
  std::ofstream(in + "/file") << "x";
  std::string name = "/tmp/../../../../../../../tmp/" + mode_name(GetParam());
  Outcome outcome = inside({}, {"cat", "/tmp/" + mode_name(GetParam())}, {"--copy-in", in + "/file:" + name});
  EXPECT_EQ(outcome.out, "x") << outcome.err;
  EXPECT_FALSE(fs::exists("/tmp/" + mode_name(GetParam())));
}
COVE_IN_EVERY_MODE(Copies);

}  // namespace
}  // namespace cove::test
