#include "host/host_run.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "host/harmless.h"
#include "support/child.h"
#include "sys/file.h"

namespace cove {
namespace {

using test::Outcome;
using Words = std::vector<std::string>;

constexpr int kNotRun = 125;
constexpr unsigned kNobody = 65534;

// Runs as root and as an ordinary user, where the tests have the choice.
class HostRun : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (as_nobody() && !test::is_root()) GTEST_SKIP() << "only root can become somebody else";
    char name[] = "/var/tmp/cove-host-run-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    top_ = name;
    workspace_ = top_ + "/ws";
    for (const char* folder : {"", "/sub", "/.hidden"}) ASSERT_TRUE(sys::mkdir(workspace_ + folder, 0755));
    write("/ws/a.txt", "pear\napple\nfig\nfig\n");
    write("/ws/b.txt", "pear\napple\nplum\n");
    write("/ws/-o", "dash\n");
    write("/ws/sub/code.py", "import os\nprint('pear')\n");
    write("/ws/table", "a,1\nb,2\n");
    write("/ws/.hidden/h", "fig\n");
    write("/ws/evil", "#!/bin/sh\ntouch canary\n", 0755);
    write("/secret", "secret\n", 0600);
    ASSERT_TRUE(sys::symlink("../secret", workspace_ + "/out"));
    ASSERT_TRUE(sys::symlink("a.txt", workspace_ + "/in"));
    for (const std::string& path : {top_, workspace_}) ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    // All of it belongs to whoever runs the commands: only the fence can stop them.
    if (!as_nobody()) return;
    ASSERT_EQ(test::run({"chown", "-R", "65534:65534", top_}).exit_code, 0);
  }
  void TearDown() override {
    if (!top_.empty()) static_cast<void>(sys::remove_tree(top_));
  }

  static bool as_nobody() { return std::strcmp(GetParam(), "Nobody") == 0; }
  void write(const std::string& path, const std::string& data, mode_t mode = 0644) const {
    ASSERT_TRUE(sys::write_file(top_ + path, data, mode));
  }

  test::ChildOptions options() const {
    test::ChildOptions options;
    options.cwd = workspace_;
    if (as_nobody()) options.uid = kNobody;
    options.env = {"COVE_SECRET=1", "LD_LIBRARY_PATH=/nowhere", "TZ=:/etc/shadow"};
    return options;
  }

  // cove-host with the workspace as descriptor 3, and others that it must close.
  Outcome host(Words words) const {
    Words all = {"/bin/sh", "-c", "exec 3<\"$0\" 4<\"$0/../secret\" 9<\"$0\"; exec \"$@\"", workspace_,
                 test::build_folder() + "/cove-host"};
    all.insert(all.end(), words.begin(), words.end());
    return test::run(all, options());
  }

  // The same without a fence.
  Outcome bare(const Words& argv) const {
    Words all = {"/bin/sh",           "-c", "exec \"$@\" </dev/null", "sh",
                 "/usr/bin/env",      "-i", "PATH=/usr/bin:/bin",     "LANG=C.UTF-8",
                 "HOME=" + workspace_};
    all.insert(all.end(), argv.begin(), argv.end());
    all[all.size() - argv.size()].erase(0, argv[0].rfind('/') + 1);
    return test::run(all, options());
  }

  // A program of Python's, behind the fence.
  Outcome python(const std::string& program) const { return host({"/usr/bin/python3", "-I", "-S", "-c", program}); }

  std::string top_;
  std::string workspace_;
};

INSTANTIATE_TEST_SUITE_P(As, HostRun, testing::Values("Self", "Nobody"), [](const auto& test) { return test.param; });

const Words kHarmlessTexts = {
    "ls",
    "ls -la",
    "ls -lhtr sub",
    "ls -1A --reverse",
    "ls -R .",
    "ls -d sub a.txt",
    "cat a.txt",
    "cat -n a.txt b.txt",
    "cat ./sub/../a.txt",
    "cat",
    "cat -",
    "cat -- -o",
    "head -n 2 a.txt",
    "head -2 a.txt",
    "head -c 5 a.txt",
    "head -n -1 a.txt",
    "tail -n 1 a.txt",
    "tail -1 a.txt",
    "tail -n +2 a.txt",
    "wc a.txt b.txt",
    "wc -l sub/code.py",
    "stat -c %s a.txt",
    "stat in",
    "du -a sub",
    "du -sh .",
    "pwd",
    "echo hello 'big  world' \"it's\"",
    "echo -n hello",
    "echo",
    "basename sub/code.py .py",
    "dirname sub/code.py",
    "realpath a.txt",
    "readlink in",
    "cmp a.txt b.txt",
    "cmp -s a.txt a.txt",
    "diff a.txt b.txt",
    "diff -u a.txt b.txt",
    "diff -U 1 a.txt b.txt",
    "sort a.txt",
    "sort -ru a.txt",
    "sort -t , -k 2,2nr table",
    "sort -- -o",
    "uniq -c a.txt",
    "cut -d , -f 1 table",
    "cut -c -3 a.txt",
    "tr a b",
    "grep -n fig a.txt",
    "grep fig",
    "grep -rn 'pea[r]' .",
    "grep -rl pear . '--include=*.py'",
    "grep -c nothing a.txt",
    "grep -e fig -e pear a.txt",
    "grep -A1 -B 1 apple a.txt",
    "grep -1 apple a.txt",
    "egrep 'fig|plum' a.txt b.txt",
    "fgrep -x fig a.txt",
    "find",
    "find . -name '*.py'",
    "find . -maxdepth 1 -type f -not -name '*.txt'",
    "find sub . '(' -name '*.py' -o -iname 'A.TXT' ')' -print",
    "find . -size -10k -mtime -2 -path './sub/*'",
    "find . -name '.hidden' -prune -o -type f -print0",
    "nl -b a a.txt",
    "od -A d -t x1 -N 8 a.txt",
    "od -c a.txt",
    "sha256sum a.txt b.txt",
    "md5sum a.txt",
    "sha1sum --tag a.txt",
    "whoami",
    "id",
    "id -un",
    "uname -sm",
    "date -u +%Y-%m-%d",
    "true",
    "false",
    "rg fig",
    "rg -n -i PEAR sub a.txt",
    "rg --files --hidden",
    "rg -l -g '*.py' pear",
    "rg --sort path -c fig",
};

TEST_P(HostRun, HarmlessCommandsGiveWhatTheyGiveWithoutAFence) {
  int ran = 0;
  for (const std::string& text : kHarmlessTexts) {
    if (text.starts_with("rg") && !sys::exists("/usr/bin/rg")) continue;
    HostCommand command;
    command.shell = text;
    command.workspace = workspace_;
    HarmlessVerdict verdict = judge(command);
    EXPECT_TRUE(verdict.harmless) << text << ": " << verdict.why;
    if (!verdict.harmless) continue;
    Words words = verdict.argv;
    if (verdict.names) words.insert(words.begin(), "--names");
    Outcome fenced = host(words);
    Outcome free = bare(verdict.argv);
    EXPECT_EQ(fenced.out, free.out) << text;
    EXPECT_EQ(fenced.err, free.err) << text;
    EXPECT_EQ(fenced.exit_code, free.exit_code) << text;
    ++ran;
  }
  EXPECT_GE(ran, 40);
}

TEST_P(HostRun, JudgesWhereItIsAsked) {
  Outcome outcome = host({"--judge", "--in", "sub", "cat", "../a.txt"});
  EXPECT_EQ(outcome.out, "pear\napple\nfig\nfig\n");
  EXPECT_EQ(host({"--judge", "ls", "-l"}).out, bare({"ls", "-l"}).out);
  for (const Words& words : {Words{"--judge", "cat", "out"}, Words{"--judge", "touch", "canary"}, Words{"--judge"},
                             Words{"--judge", "--in", "..", "ls"}, Words{"--judge", "/usr/bin/ls"}}) {
    Outcome refused = host(words);
    EXPECT_EQ(refused.exit_code, kNotRun) << join(words, " ");
    EXPECT_EQ(refused.out, "");
    EXPECT_TRUE(refused.err.starts_with("cove-host: not harmless: ")) << refused.err;
  }
  EXPECT_FALSE(sys::exists(workspace_ + "/canary"));
}

TEST_P(HostRun, ReadsOnlyInTheWorkspace) {
  for (const char* path : {"/etc/shadow", "/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/1/cmdline",
                           "/dev/null", "/sys/kernel/mm/ksm/run", "out", "../secret"}) {
    Outcome outcome = host({"/usr/bin/cat", path});
    EXPECT_EQ(outcome.exit_code, 1) << path;
    EXPECT_EQ(outcome.out, "") << path;
    EXPECT_NE(outcome.err.find("Permission denied"), std::string::npos) << path << ": " << outcome.err;
  }
  for (const char* folder : {"/", "/etc", "/root", "/home", "/proc", "/tmp", "..", "/var/tmp"})
    EXPECT_EQ(host({"/usr/bin/ls", folder}).out, "") << folder;
  // Names of users only where asked for, and then nothing else.
  EXPECT_NE(host({"--names", "/usr/bin/cat", "/etc/passwd"}).out, "");
  EXPECT_EQ(host({"--names", "/usr/bin/cat", "/etc/shadow"}).out, "");
  EXPECT_EQ(host({"/usr/bin/cat", "a.txt"}).exit_code, 0);
}

TEST_P(HostRun, WritesNowhere) {
  const std::vector<Words> attempts = {
      {"/usr/bin/touch", "canary"},
      {"/usr/bin/touch", "a.txt"},
      {"/usr/bin/touch", "../canary"},
      {"/usr/bin/cp", "a.txt", "canary"},
      {"/usr/bin/mv", "a.txt", "canary"},
      {"/usr/bin/ln", "a.txt", "canary"},
      {"/usr/bin/ln", "-s", "a.txt", "canary"},
      {"/usr/bin/mkdir", "canary"},
      {"/usr/bin/mkfifo", "canary"},
      {"/usr/bin/mknod", "canary", "c", "1", "3"},
      {"/usr/bin/rm", "a.txt"},
      {"/usr/bin/rmdir", "sub"},
      {"/usr/bin/chmod", "777", "a.txt"},
      {"/usr/bin/chown", "0:1", "a.txt"},
      {"/usr/bin/truncate", "-s", "0", "a.txt"},
      {"/usr/bin/tee", "-a", "a.txt"},
      {"/usr/bin/dd", "if=b.txt", "of=a.txt"},
      {"/usr/bin/sort", "-o", "a.txt", "b.txt"},
      {"/usr/bin/uniq", "a.txt", "canary"},
  };
  auto state = [&] { return bare({"find", "..", "-printf", "%p %m %u %s %T@ %C@ %y\\n"}).out; };
  std::string before = state();
  for (const Words& words : attempts) EXPECT_NE(host(words).exit_code, 0) << join(words, " ");
  for (const char* program :
       {"open('canary','w')", "open('a.txt','a')", "open('a.txt','r+')", "open('/dev/null','w')",
        "import os; os.truncate('a.txt',0)", "import os; os.utime('a.txt',(0,0))", "import os; os.chmod('a.txt',0o777)",
        "import os; os.fchmod(os.open('a.txt',os.O_RDONLY),0o777)",
        "import os; os.utime(os.open('a.txt',os.O_RDONLY),(0,0))", "import os; os.setxattr('a.txt','user.a',b'1')",
        "import os; os.open('.',os.O_TMPFILE|os.O_RDWR)", "import os; os.memfd_create('a')"})
    EXPECT_EQ(python(program).exit_code, 1) << program;
  EXPECT_EQ(state(), before);
}

TEST_P(HostRun, ExecutesNothingButTheProgram) {
  for (const std::string& program :
       {workspace_ + "/evil", std::string("./evil"), std::string("evil"), workspace_ + "/../../../usr/bin/ls",
        std::string("/usr/bin/../bin/ls"), std::string("/usr/bin"), std::string("/usr/bin/no-such-program")}) {
    Outcome outcome = host({program});
    EXPECT_EQ(outcome.exit_code, kNotRun) << program;
    EXPECT_EQ(outcome.out, "") << program;
  }
  EXPECT_EQ(host({"/usr/bin/env", "./evil"}).exit_code, 126);
  EXPECT_EQ(host({"/usr/bin/env", "/usr/bin/id"}).exit_code, 126);
  EXPECT_NE(host({"/usr/bin/find", ".", "-exec", "/usr/bin/touch", "canary", ";"}).exit_code, 0);
  EXPECT_NE(host({"/usr/bin/sh", "./evil"}).exit_code, 0);
  EXPECT_NE(python("import os; os.fork()").exit_code, 0);
  EXPECT_NE(python("import os; os.posix_spawn('/usr/bin/true', ['true'], {})").exit_code, 0);
  EXPECT_EQ(python("import os; os.execv('/usr/bin/true', ['true'])").exit_code, 1);
  EXPECT_FALSE(sys::exists(workspace_ + "/canary"));
}

// A listener that the attempts are aimed at, and that must see nothing.
bool somebody_came(int listener) {
  pollfd polled = {listener, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

TEST_P(HostRun, TalksToNobody) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, (workspace_ + "/door").c_str());
  UniqueFd door(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(door.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::chmod(address.sun_path, 0777), 0);
  ASSERT_EQ(::listen(door.get(), 8), 0);
  UniqueFd port(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof loopback;
  ASSERT_EQ(::bind(port.get(), reinterpret_cast<sockaddr*>(&loopback), size), 0);
  ASSERT_EQ(::listen(port.get(), 8), 0);
  ASSERT_EQ(::getsockname(port.get(), reinterpret_cast<sockaddr*>(&loopback), &size), 0);
  for (const std::string& program :
       {std::string("import socket; socket.socket(socket.AF_UNIX).connect('door')"),
        concat("import socket; socket.create_connection(('127.0.0.1',", ntohs(loopback.sin_port), "))"),
        std::string("import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"),
        std::string("import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"),
        std::string("import socket; socket.socketpair()")}) {
    Outcome outcome = python(program);
    EXPECT_EQ(outcome.exit_code, 1) << program;
    EXPECT_NE(outcome.err.find("PermissionError"), std::string::npos) << outcome.err;
  }
  EXPECT_FALSE(somebody_came(door.get()));
  EXPECT_FALSE(somebody_came(port.get()));
  // The listeners work.
  test::run({"/usr/bin/python3", "-c", "import socket; socket.socket(socket.AF_UNIX).connect('door')"}, options());
  EXPECT_TRUE(somebody_came(door.get()));
}

TEST_P(HostRun, ReachesNoOtherProcess) {
  for (const char* program : {"import os; os.kill(os.getppid(), 0)", "import os; os.kill(1, 0)",
                              "import os; os.setpriority(os.PRIO_PROCESS, 0, 5)", "import os; os.setuid(os.getuid())",
                              "import os; os.sched_setaffinity(0, {0})",
                              "import resource, os; resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0))"}) {
    Outcome outcome = python(program);
    EXPECT_EQ(outcome.exit_code, 1) << program;
    EXPECT_NE(outcome.err.find("PermissionError"), std::string::npos) << outcome.err;
  }
}

TEST_P(HostRun, HasNothingOfTheCallers) {
  EXPECT_EQ(host({"/usr/bin/env"}).out, concat("PATH=/usr/bin:/bin\nLANG=C.UTF-8\nHOME=", workspace_, "\n"));
  EXPECT_EQ(python("import os\nfor n in range(64):\n  try: os.fstat(n); print(n)\n  except OSError: pass").out,
            "0\n1\n2\n");
  EXPECT_EQ(python("import sys; print(repr(sys.stdin.read()))").out, "''\n");
  // no_new_privs; no capability in the bounding set, for root; the limits.
  EXPECT_EQ(python("import ctypes; print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))").out, "1\n");
  if (test::is_root() && !as_nobody()) {
    EXPECT_EQ(python("import ctypes; print(sum(ctypes.CDLL(None).prctl(23, n, 0, 0, 0) for n in range(38)))").out,
              "0\n");
    EXPECT_NE(python("import os; os.chroot('.')").exit_code, 0);
  }
  EXPECT_EQ(python("import resource as r\nfor n in 'CPU AS FSIZE NPROC CORE'.split():\n"
                   "  print(r.getrlimit(getattr(r, 'RLIMIT_' + n))[1])")
                .out,
            "10\n1073741824\n0\n1\n0\n");
  EXPECT_NE(python("bytearray(1 << 31)").err.find("MemoryError"), std::string::npos);
}

TEST_P(HostRun, EntersOnlyFoldersOfTheWorkspace) {
  EXPECT_EQ(host({"--in", "sub", "/usr/bin/cat", "code.py"}).exit_code, 0);
  ASSERT_TRUE(sys::symlink("sub", workspace_ + "/subway"));
  for (const char* folder : {"..", "/", "/etc", "subway", "sub/../..", "nowhere", "a.txt"})
    EXPECT_EQ(host({"--in", folder, "/usr/bin/pwd"}).exit_code, kNotRun) << folder;
}

// A kernel without Landlock, played by a filter that knows no such call.
[[noreturn]] void without_landlock(const std::string& program, const std::string& workspace, int out) {
  sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter = {4, instructions};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0) ::_exit(1);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::dup2(::open(workspace.c_str(), O_RDONLY), 3);
  ::execl(program.c_str(), "cove-host", "/usr/bin/cat", "a.txt", nullptr);
  ::_exit(2);
}

TEST_P(HostRun, RefusesToRunWithoutLandlock) {
  auto ends = sys::pipe();
  ASSERT_TRUE(ends);
  pid_t child = ::fork();
  if (child == 0) without_landlock(test::build_folder() + "/cove-host", workspace_, ends->write.get());
  ends->write.reset();
  std::string said = sys::read_all(ends->read.get()).value_or("");
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), kNotRun);
  EXPECT_NE(said.find("no Landlock"), std::string::npos) << said;
  EXPECT_EQ(said.find("pear"), std::string::npos) << said;
}

}  // namespace
}  // namespace cove
