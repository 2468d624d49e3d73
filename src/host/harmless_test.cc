#include "host/harmless.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "base/text.h"
#include "host/harmless_paths.h"
#include "host/harmless_words.h"
#include "support/child.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cove {
namespace {

using test::run;
using Words = std::vector<std::string>;

// A workspace with something of each kind, and a folder beside it that no command may reach.
class Harmless : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/var/tmp/cove-harmless-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    top_ = name;
    workspace_ = top_ + "/ws";
    for (const char* folder : {"/ws", "/ws/sub", "/ws/sub/deep", "/ws/dir", "/ws-beside", "/outside"})
      ASSERT_TRUE(sys::mkdir(top_ + folder, 0755));
    for (const char* file : {"/ws/a.txt", "/ws/b.txt", "/ws/in.tgz", "/ws/+1", "/ws/-", "/ws/-o", "/ws/sub/c.py",
                             "/ws/sub/deep/d.txt", "/ws-beside/e.txt", "/outside/secret"})
      ASSERT_TRUE(sys::write_file(top_ + file, "one\ntwo\nthree\n"));
    for (auto [target, link] : std::initializer_list<std::pair<std::string, std::string>>{{"a.txt", "in"},
                                                                                          {"../outside/secret", "out"},
                                                                                          {"/etc/passwd", "passwd"},
                                                                                          {"sub", "subway"},
                                                                                          {"..", "up"},
                                                                                          {"/proc/self", "self"},
                                                                                          {"/", "root"},
                                                                                          {"nowhere", "dangling"}})
      ASSERT_TRUE(sys::symlink(target, workspace_ + "/" + link));
    ASSERT_EQ(::mkfifo((workspace_ + "/fifo").c_str(), 0644), 0);
    bind_socket();
  }
  void TearDown() override { static_cast<void>(sys::remove_tree(top_)); }

  void bind_socket() {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (workspace_ + "/socket").c_str());
    socket_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }

  HostCommand command(Words argv) const {
    HostCommand command;
    command.argv = std::move(argv);
    command.workspace = workspace_;
    return command;
  }
  HostCommand text(std::string shell) const {
    HostCommand command;
    command.shell = std::move(shell);
    command.workspace = workspace_;
    return command;
  }

  // All there is below the top, with what would show that somebody touched it.
  std::map<std::string, std::string> state() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top_)) {
      struct stat info;
      if (::lstat(entry.path().c_str(), &info) < 0) continue;
      found[entry.path()] = concat(info.st_mode, " ", info.st_uid, " ", info.st_size, " ", info.st_nlink, " ",
                                   info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ", info.st_ctim.tv_nsec);
    }
    return found;
  }

  void expect_refused(const HostCommand& order, const std::string& shown) const {
    HarmlessVerdict verdict = judge(order);
    EXPECT_FALSE(verdict.harmless) << shown;
    EXPECT_FALSE(verdict.why.empty()) << shown;
    EXPECT_TRUE(verdict.argv.empty()) << shown;
  }

  std::string top_;
  std::string workspace_;
  UniqueFd socket_;
};

// Page faults of all children that have ended: grows with each.
long work_of_children() {
  rusage usage = {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_minflt;
}

// What no shell text may have. `canary` is what most of them would leave behind.
const Words kTexts = {
    "",
    " ",
    "ls; touch canary",
    "ls;touch canary",
    "ls & touch canary",
    "ls && touch canary",
    "ls || touch canary",
    "ls | tee canary",
    "ls > canary",
    "ls >canary",
    "ls 2>canary",
    "ls >> canary",
    "cat < a.txt",
    "cat <<< a",
    "cat <<EOF",
    "ls >| canary",
    "ls <> canary",
    "ls\ntouch canary",
    "ls\rtouch canary",
    "ls\ttouch",
    "ls\vtouch",
    std::string("ls\0touch canary", 15),
    "ls \x1b[31m",
    "ls \x7f",
    "$(touch canary)",
    "ls $(touch canary)",
    "ls `touch canary`",
    "ls \"$(touch canary)\"",
    "ls \"`touch canary`\"",
    "ls $HOME",
    "ls ${HOME}",
    "ls \"$HOME\"",
    "echo '$HOME'",
    "echo \"a\\\"b\"",
    "echo a\\ b",
    "echo \\n",
    "echo 'a\\b'",
    "echo \"!!\"",
    "echo !!",
    "! ls",
    "ls *",
    "ls *.txt",
    "cat a.tx?",
    "cat a.[t]xt",
    "cat {a,b}.txt",
    "cat a{1..3}",
    "ls ~",
    "ls ~root",
    "ls # canary",
    "ls#",
    "#ls",
    "A=1 ls",
    "LD_PRELOAD=./x.so ls",
    "PATH=. ls",
    "ls --color=never",
    "ls a=b",
    "(ls)",
    "{ ls; }",
    "ls ()",
    "ls() { touch canary; }",
    "ls 'a.txt",
    "ls \"a.txt",
    "ls a'.txt'",
    "ls 'a'.txt",
    "ls 'a''b'",
    "ls \"a\"'b'",
    "l\"s\"",
    "ls\xc2\xa0-l",
    "ls\xe2\x80\x83-l",
    "ls\xe3\x80\x80-l",
    "ls \xe2\x80\x8b-l",
    "ls 'b\xc3\xa4um'",
    "ls \xff",
    "ls ^a",
    "time ls",
    "exec ls",
    "eval ls",
    "command ls",
    "builtin echo a",
    "source a.txt",
    ". a.txt",
    "type ls",
    "alias ls",
    "if true",
    "sh -c ls",
    "bash -c 'touch canary'",
    "sudo ls",
    "env ls",
    "nohup ls",
    "xargs ls",
    "timeout 5 ls",
    "cd sub",
    "export A",
    "'ls ' -l",
    "'' ls",
};

TEST_F(Harmless, ShellTextThatIsNotPlainIsRefused) {
  auto before = state();
  long work = work_of_children();
  for (const std::string& shell : kTexts) expect_refused(text(shell), shell);
  EXPECT_EQ(state(), before);
  EXPECT_EQ(work_of_children(), work);
  EXPECT_LT(::waitpid(-1, nullptr, WNOHANG), 0) << "something was started";
}

// Commands whose words are as they are: programs, options and operands that are not on the list.
const Words kLong(300, "a.txt");
const std::vector<Words> kCommands = {
    // programs
    {"rm", "a.txt"},
    {"touch", "canary"},
    {"tee", "canary"},
    {"cp", "a.txt", "canary"},
    {"mv", "a.txt", "canary"},
    {"ln", "a.txt", "canary"},
    {"dd", "of=canary"},
    {"python3", "-c", "open('canary','w')"},
    {"perl", "-e", "1"},
    {"awk", "1", "a.txt"},
    {"sed", "-n", "1p", "a.txt"},
    {"git", "status"},
    {"git", "log"},
    {"git", "diff"},
    {"env"},
    {"printenv"},
    {"file", "a.txt"},
    {"xxd", "a.txt", "canary"},
    {"xxd", "a.txt"},
    {"tree"},
    {"df"},
    {"ps"},
    {"which", "ls"},
    {"printf", "a"},
    {"test", "-f", "a.txt"},
    {"[", "-f", "a.txt", "]"},
    {"less", "a.txt"},
    {"more", "a.txt"},
    {"vi", "a.txt"},
    {"tar", "-tf", "in.tgz"},
    {"busybox", "ls"},
    {"LS"},
    {"ls "},
    {" ls"},
    {""},
    {"/bin/ls"},
    {"/usr/bin/ls"},
    {"./ls"},
    {"../../usr/bin/ls"},
    {"sub/ls"},
    {"-ls"},
    // options that write, run or read what they should not
    {"sort", "-o", "canary", "a.txt"},
    {"sort", "-ocanary", "a.txt"},
    {"sort", "a.txt", "-o", "canary"},
    {"sort", "--output=canary", "a.txt"},
    {"sort", "--output", "canary", "a.txt"},
    {"sort", "--outp=canary", "a.txt"},
    {"sort", "--o=canary", "a.txt"},
    {"sort", "-no", "canary", "a.txt"},
    {"sort", "-uro", "canary", "a.txt"},
    {"sort", "--compress-program=./evil", "a.txt"},
    {"sort", "--compress-prog=./evil", "a.txt"},
    {"sort", "-T", "/tmp", "a.txt"},
    {"sort", "-nT/tmp", "a.txt"},
    {"sort", "--temporary-directory=/tmp", "a.txt"},
    {"sort", "--files0-from=a.txt"},
    {"sort", "--random-source=/etc/shadow", "a.txt"},
    {"sort", "+1", "a.txt"},
    {"sort", "-t", "-o", "canary"},
    {"sort", "-k", "--output=canary", "a.txt"},
    {"sort", "-S", "1k", "a.txt"},
    {"uniq", "a.txt", "canary"},
    {"uniq", "--", "a.txt", "canary"},
    {"uniq", "-c", "a.txt", "b.txt"},
    {"uniq", "+1"},
    {"tail", "-f", "a.txt"},
    {"tail", "-F", "a.txt"},
    {"tail", "--follow", "a.txt"},
    {"tail", "--follow=name", "a.txt"},
    {"tail", "--foll", "a.txt"},
    {"tail", "--retry", "a.txt"},
    {"tail", "--pid=1", "a.txt"},
    {"tail", "-5f", "a.txt"},
    {"tail", "-n", "5", "-f", "a.txt"},
    {"tail", "-qf", "a.txt"},
    {"tail", "-n", "-f", "a.txt"},
    {"tail", "-n", "five", "a.txt"},
    {"wc", "--files0-from=a.txt"},
    {"wc", "--files0-from=-"},
    {"du", "--files0-from=a.txt"},
    {"du", "-L", "."},
    {"du", "-D", "."},
    {"du", "-X", "a.txt"},
    {"ls", "-L", "sub"},
    {"ls", "-H", "sub"},
    {"ls", "-lL", "sub"},
    {"ls", "-F"},
    {"ls", "-lF"},
    {"ls", "--classify"},
    {"ls", "--dereference"},
    {"ls", "--deref"},
    {"ls", "--color"},
    {"ls", "--color=always"},
    {"ls", "--hyperlink"},
    {"ls", "-Z"},
    {"ls", "--recursiv"},
    {"ls", "--l"},
    {"ls",
     "--"
     "=x"},
    {"stat", "-L", "in"},
    {"stat", "-f", "."},
    {"readlink", "-f", "in"},
    {"readlink", "-e", "in"},
    {"readlink", "-m", "in"},
    {"realpath", "-m", "nowhere/../a.txt"},
    {"realpath", "--relative-to=/", "a.txt"},
    {"grep", "-f", "a.txt", "b.txt"},
    {"grep", "--file=a.txt", "b.txt"},
    {"grep", "-R", "one", "."},
    {"grep", "-nR", "one", "."},
    {"grep", "--dereference-recursive", "one", "."},
    {"grep", "-P", "one", "a.txt"},
    {"grep", "--exclude-from=a.txt", "one", "."},
    {"grep", "-D", "read", "one", "."},
    {"grep", "-e", "-f", "a.txt"},
    {"grep", "--regexp", "--file=a.txt", "b.txt"},
    {"grep"},
    {"egrep", "-R", "one", "."},
    {"fgrep", "-f", "a.txt"},
    {"rg", "--pre", "./evil", "one"},
    {"rg", "--pre=./evil", "one"},
    {"rg", "--pre-glob=*", "one"},
    {"rg", "--hostname-bin=./evil", "one"},
    {"rg", "-z", "one"},
    {"rg", "-iz", "one"},
    {"rg", "--search-zip", "one"},
    {"rg", "-f", "a.txt"},
    {"rg", "-L", "one"},
    {"rg", "--follow", "one"},
    {"rg", "--ignore-file=a.txt", "one"},
    {"rg", "--type-add=x:include:y", "one"},
    {"rg", "-P", "one"},
    {"find", ".", "-delete"},
    {"find", ".", "-exec", "touch", "canary", ";"},
    {"find", ".", "-execdir", "touch", "canary", ";"},
    {"find", ".", "-ok", "touch", "canary", ";"},
    {"find", ".", "-okdir", "touch", "canary", ";"},
    {"find", ".", "-fprint", "canary"},
    {"find", ".", "-fprint0", "canary"},
    {"find", ".", "-fprintf", "canary", "%p"},
    {"find", ".", "-fls", "canary"},
    {"find", ".", "-printf", "%p"},
    {"find", "-files0-from", "a.txt"},
    {"find", "-L", ".", "-name", "x"},
    {"find", "-H", "."},
    {"find", "-P", "."},
    {"find", "-D", "exec", "."},
    {"find", "-O3", "."},
    {"find", ".", "-follow"},
    {"find", ".", "-name", "-delete"},
    {"find", ".", "-name"},
    {"find", ".", "-maxdepth", "-delete"},
    {"find", ".", "-name", "x", "-o", "-delete"},
    {"find", ".", "(", "-name", "x", ")", "-delete"},
    {"find", ".", "!", "-delete"},
    {"find", ".", "-name", "x", "/etc"},
    {"find", ".", ",", "-delete"},
    {"find", "--", "."},
    {"find", ".", "-newer", "a.txt"},
    {"find", ".", "-samefile", "/etc/shadow"},
    {"diff", "-r", "sub", "dir"},
    {"diff", "sub", "dir"},
    {"diff", "a.txt", "sub"},
    {"diff", "-l", "a.txt", "b.txt"},
    {"diff", "--paginate", "a.txt", "b.txt"},
    {"diff", "-X", "a.txt", "a.txt", "b.txt"},
    {"diff", "--from-file=a.txt", "b.txt", "b.txt"},
    {"diff", "a.txt"},
    {"diff", "a.txt", "b.txt", "a.txt"},
    {"cmp", "a.txt", "b.txt", "0"},
    {"sha256sum", "-c", "a.txt"},
    {"sha256sum", "--check", "a.txt"},
    {"md5sum", "-bc", "a.txt"},
    {"md5sum", "--chec", "a.txt"},
    {"date", "-s", "12:00"},
    {"date", "--set=12:00"},
    {"date", "010100002000"},
    {"date", "-u", "010100002000"},
    {"date", "-f", "a.txt"},
    {"date", "-r", "a.txt"},
    {"date", "-d", "TZ=\"/etc/shadow\" now"},
    {"date", "+%Y", "+%m"},
    {"id", "root"},
    {"id", "-Z"},
    {"uname", "x"},
    {"pwd", "x"},
    {"whoami", "x"},
    {"true", "x"},
    {"echo", "-e", "a"},
    {"echo", "-n", "-e", "a"},
    {"echo", "-ne", "a"},
    {"echo", "--help"},
    {"od", "+1"},
    {"od", "-S", "3", "a.txt"},
    {"nl", "--help"},
    {"cat", "--help"},
    {"cat", "--version"},
    {"cut", "--output-del=x", "-f1", "a.txt"},
    {"head", "-n"},
    {"head", "-n", "-q", "a.txt"},
    {"tr", "a", "b", "c"},
    // operands
    {"cat", "/etc/shadow"},
    {"cat", "/etc/passwd"},
    {"cat", "//etc/passwd"},
    {"cat", "../outside/secret"},
    {"cat", "sub/../../outside/secret"},
    {"cat", "sub/../../ws/a.txt"},
    {"ls", ".."},
    {"ls", "/"},
    {"ls", "sub/../.."},
    {"cat", "in"},
    {"cat", "out"},
    {"cat", "passwd"},
    {"cat", "dangling"},
    {"cat", "subway/c.py"},
    {"cat", "up/outside/secret"},
    {"cat", "self/environ"},
    {"cat", "root/etc/passwd"},
    {"ls", "root"},
    {"ls", "out"},
    {"stat", "root/etc/shadow"},
    {"readlink", "self/exe"},
    {"find", "root", "-name", "shadow"},
    {"grep", "-r", "root", "root"},
    {"cat", "/proc/self/environ"},
    {"cat", "/proc/self/root/etc/shadow"},
    {"cat", "/dev/stdin"},
    {"cat", "/dev/mem"},
    {"head", "-c", "5", "/dev/zero"},
    {"wc", "-c", "/dev/zero"},
    {"cat", "/dev/fd/3"},
    {"cat", "fifo"},
    {"cat", "socket"},
    {"ls", "fifo"},
    {"cat", "sub"},
    {"cat", "nowhere"},
    {"cat", ""},
    {"cat", "a.txt/"},
    {"cat", "--", "-n"},
    {"cat", "--", "--", "a.txt"},
    {"ls", "--", "-R"},
    {"ls", "-"},
    {"grep", "one", "-"},
    {"grep", "--", "-f", "/etc/passwd"},
    {"sort", "--", "-o", "canary"},
    {"cat", "a.txt\n/etc/passwd"},
    {"cat", std::string("a.txt\0/../../etc/passwd", 23)},
    {std::string("ls\0x", 4)},
    {"ls", "\x01"},
    {"ls", "\xff\xfe"},
    {"cat", std::string(5000, 'a')},
    {"echo", std::string(5000, 'a')},
};

TEST_F(Harmless, CommandsThatAreNotOnTheListAreRefused) {
  auto before = state();
  long work = work_of_children();
  for (const Words& words : kCommands) expect_refused(command(words), join(words, " "));
  Words many = {"cat"};
  many.insert(many.end(), kLong.begin(), kLong.end());
  expect_refused(command(many), "300 operands");
  Words heavy = {"echo"};
  for (int i = 0; i < 20; ++i) heavy.emplace_back(4000, 'a');
  expect_refused(command(heavy), "80,000 bytes");
  expect_refused(text(concat("echo ", std::string(5000, 'a'))), "long text");
  expect_refused(command({"cat", workspace_ + "-beside/e.txt"}), "a folder whose name begins alike");
  expect_refused(command({"cat", workspace_ + "/../outside/secret"}), "out of the workspace by its full path");
  expect_refused(command({"cat", top_ + "/outside/secret"}), "outside by its full path");
  EXPECT_EQ(state(), before);
  EXPECT_EQ(work_of_children(), work);
  EXPECT_LT(::waitpid(-1, nullptr, WNOHANG), 0) << "something was started";
}

TEST_F(Harmless, EnoughIsTried) { EXPECT_GE(kTexts.size() + kCommands.size(), 120u); }

TEST_F(Harmless, WhatComesWithACommandCanMakeItHarmful) {
  ASSERT_TRUE(judge(command({"ls"})).harmless);
  auto with = [&](auto change) {
    HostCommand order = command({"ls"});
    change(order);
    return order;
  };
  expect_refused(with([](HostCommand& order) { order.env = {{"LD_PRELOAD", "./evil.so"}}; }), "LD_PRELOAD");
  expect_refused(with([](HostCommand& order) { order.env = {{"PATH", "."}}; }), "PATH");
  expect_refused(with([](HostCommand& order) { order.env = {{"TZ", ":/etc/shadow"}}; }), "TZ");
  expect_refused(with([](HostCommand& order) { order.env = {{"RIPGREP_CONFIG_PATH", "a.txt"}}; }), "rg's");
  expect_refused(with([](HostCommand& order) { order.env = {{"", ""}}; }), "a variable without a name");
  expect_refused(with([](HostCommand& order) { order.has_stdin = true; }), "input");
  expect_refused(with([](HostCommand& order) { order.pty = true; }), "a terminal");
  expect_refused(with([](HostCommand& order) { order.language = "python"; }), "code");
  expect_refused(with([](HostCommand& order) { order.shell = "ls"; }), "two commands");
  expect_refused(with([](HostCommand& order) { order.argv.clear(); }), "no command");
  expect_refused(with([](HostCommand& order) { order.workspace = ""; }), "no workspace");
  expect_refused(with([](HostCommand& order) { order.workspace = "ws"; }), "a relative workspace");
  expect_refused(with([](HostCommand& order) { order.workspace = "/"; }), "all of the machine");
  expect_refused(with([](HostCommand& order) { order.workspace += "/nowhere"; }), "a workspace that is not there");
  expect_refused(with([](HostCommand& order) { order.cwd = "/"; }), "another folder");
  expect_refused(with([](HostCommand& order) { order.cwd = order.workspace + "/.."; }), "the folder above");
  expect_refused(with([](HostCommand& order) { order.cwd = order.workspace + "/subway"; }), "a link to a folder");
  expect_refused(with([](HostCommand& order) { order.cwd = order.workspace + "/root/etc"; }), "through a link");
  expect_refused(with([](HostCommand& order) { order.cwd = order.workspace + "/nowhere"; }), "no folder");
  expect_refused(with([](HostCommand& order) { order.cwd = order.workspace + "/a.txt"; }), "a file as folder");
  expect_refused(with([](HostCommand& order) { order.cwd = "sub"; }), "a relative folder");
}

TEST_F(Harmless, TheWorkingFolderIsFoundBelowTheWorkspace) {
  HostCommand order = command({"cat", "../a.txt"});
  order.cwd = workspace_ + "/sub";
  EXPECT_TRUE(judge(order).harmless);
  EXPECT_EQ(judge(order).folder, "sub");
  order.cwd = "/workspace/sub";
  EXPECT_FALSE(judge(order).harmless);
  order.seen_at = "/workspace";
  EXPECT_EQ(judge(order).folder, "sub");
  order.cwd = "/workspace";
  EXPECT_FALSE(judge(order).harmless) << "now '..' leads out";
  order.argv = {"cat", "a.txt"};
  EXPECT_EQ(judge(order).folder, ".");
}

TEST_F(Harmless, WhatTellsTheFolderIsSandboxedWhereItDiffersThere) {
  EXPECT_TRUE(judge(command({"pwd"})).harmless);
  HostCommand order = command({"pwd"});
  order.seen_at = "/workspace";
  EXPECT_FALSE(judge(order).harmless);
  order.argv = {"realpath", "a.txt"};
  EXPECT_FALSE(judge(order).harmless);
  order.seen_at = workspace_;
  EXPECT_TRUE(judge(order).harmless);
}

TEST_F(Harmless, TheWorkspaceMayBeGivenAsADescriptor) {
  UniqueFd folder(::open(workspace_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  HostCommand order = command({"cat", "a.txt"});
  order.folder = folder.get();
  ASSERT_TRUE(sys::rename(workspace_, workspace_ + "-moved"));
  EXPECT_TRUE(judge(order).harmless) << judge(order).why;
  order.folder = -1;
  EXPECT_FALSE(judge(order).harmless);
}

TEST_F(Harmless, TheVerdictNamesTheSystemsProgram) {
  HarmlessVerdict verdict = judge(text("egrep -n 'o|t' a.txt"));
  ASSERT_TRUE(verdict.harmless) << verdict.why;
  EXPECT_EQ(verdict.program, "egrep");
  EXPECT_EQ(verdict.argv, (Words{"/usr/bin/grep", "-E", "-n", "o|t", "a.txt"}));
  ::setenv("PATH", workspace_.c_str(), 1);
  ASSERT_TRUE(sys::write_file(workspace_ + "/ls", "#!/bin/sh\ntouch canary\n", 0755));
  EXPECT_EQ(judge(command({"ls"})).argv, (Words{"/usr/bin/ls"}));
  ::setenv("PATH", "/usr/bin:/bin", 1);
}

TEST_F(Harmless, SortIsBoundedByWhatFitsInMemory) {
  EXPECT_TRUE(judge(command({"sort", "a.txt"})).harmless);
  ASSERT_EQ(::truncate((workspace_ + "/b.txt").c_str(), 65 << 20), 0);
  EXPECT_FALSE(judge(command({"sort", "a.txt", "b.txt"})).harmless);
  EXPECT_TRUE(judge(command({"wc", "b.txt"})).harmless);
}

TEST_F(Harmless, AProgramThatOthersCanWriteToIsNotTrusted) {
  COVE_NEEDS_ROOT();
  std::string folder = top_ + "/bin";
  ASSERT_TRUE(sys::mkdir(folder, 0755));
  std::string program = folder + "/prog";
  ASSERT_TRUE(sys::write_file(program, "", 0755));
  auto trusted = [&] { return harmless::find_trusted_program("prog", {folder}).has_value(); };
  EXPECT_TRUE(trusted());
  ASSERT_EQ(::chmod(program.c_str(), 0775), 0);
  EXPECT_FALSE(trusted());
  ASSERT_EQ(::chmod(program.c_str(), 0757), 0);
  EXPECT_FALSE(trusted());
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  ASSERT_EQ(::chown(program.c_str(), 1234, 0), 0);
  EXPECT_FALSE(trusted());
  ASSERT_EQ(::chown(program.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_FALSE(trusted());
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_TRUE(trusted());
  // A link into a folder of somebody else's.
  ASSERT_TRUE(sys::mkdir(top_ + "/theirs", 0777));
  ASSERT_EQ(::chmod((top_ + "/theirs").c_str(), 0777), 0);
  ASSERT_TRUE(sys::write_file(top_ + "/theirs/prog", "", 0755));
  ASSERT_TRUE(sys::remove_tree(program));
  ASSERT_TRUE(sys::symlink("../theirs/prog", program));
  EXPECT_FALSE(trusted());
  EXPECT_FALSE(harmless::open_trusted_program(folder + "/../theirs/prog", {folder}).has_value());
}

TEST_F(Harmless, WhatIsMountedInTheWorkspaceIsNotLookedAt) {
  COVE_NEEDS_ROOT();
  pid_t child = ::fork();
  if (child == 0) {
    bool mounted = sys::unshare(CLONE_NEWNS) && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   ::mount("none", (workspace_ + "/dir").c_str(), "tmpfs", 0, nullptr) == 0 &&
                   sys::write_file(workspace_ + "/dir/f", "");
    bool refused = !judge(command({"cat", "dir/f"})).harmless && !judge(command({"ls", "dir"})).harmless;
    ::_exit(!mounted ? 2 : refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Whatever is understood here is understood alike by shells. The words are handed to `set`, so that nothing is run.
TEST_F(Harmless, PlainTextMeansTheSameToShells) {
  constexpr std::string_view kAlphabet = "aabb..--//  ''\"\"=;|&<>(){}[]*?~#$`\\!%:@+,^\n\t\xc2\xa0";
  std::mt19937 random(7);
  int understood = 0;
  for (int round = 0; round < 60'000 && understood < 250; ++round) {
    std::string text;
    for (size_t size = random() % 12; text.size() < size;) text += kAlphabet[random() % kAlphabet.size()];
    Result<Words> words = harmless::split_plain_words(text);
    if (!words || words->empty()) continue;
    ++understood;
    std::string expected;
    for (const std::string& word : *words) expected += concat("[", word, "]");
    for (const char* shell : {"/bin/sh", "/bin/bash"}) {
      test::ChildOptions options;
      options.cwd = workspace_ + "/dir";
      test::Outcome outcome = run({shell, "-c", concat("set -- ", text, "\nprintf '[%s]' \"$@\"")}, options);
      EXPECT_EQ(outcome.out, expected) << shell << ": " << text;
      EXPECT_EQ(outcome.err, "") << shell << ": " << text;
    }
  }
  EXPECT_GE(understood, 200);
}

}  // namespace
}  // namespace cove
