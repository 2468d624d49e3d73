// Programs that people really run work inside.
#include "support/person.h"

namespace cove::test {
namespace {

bool installed(const std::string& program) {
  return run({"sh", "-c", "PATH=/usr/local/bin:/usr/bin:/bin command -v " + program}).exit_code == 0;
}

struct Program {
  const char* name;
  const char* needs;  // skipped where this is not installed on this machine
  const char* script;
  const char* output;
};

const Program kPrograms[] = {
    {"PythonThreads", "python3",
     "python3 -c 'import threading; n=[]; t=[threading.Thread(target=n.append,args=(1,)) for _ in range(3)]; "
     "[x.start() for "
     "x in t]; [x.join() for x in t]; print(len(n))'",
     "3\n"},
    {"PythonMultiprocessing", "python3",
     "python3 -c 'from multiprocessing import Pool; print(Pool(2).map(abs,[-1,-2,-3]))'", "[1, 2, 3]\n"},
    {"PythonSubprocess", "python3", "python3 -c 'import subprocess; print(subprocess.check_output([\"echo\",\"hi\"]))'",
     "b'hi\\n'\n"},
    {"PythonVenv", "python3", "python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'",
     "/home/user/v\n"},
    {"Sqlite", "python3",
     "python3 -c 'import sqlite3; c=sqlite3.connect(\"d.db\"); c.execute(\"create table t(a)\"); c.execute(\"insert "
     "into t values(5)\"); c.commit(); print(c.execute(\"select a from t\").fetchone())'",
     "(5,)\n"},
    {"Node", "node", "node -e 'console.log(require(\"os\").networkInterfaces().lo.length > 0, [1,2].map(x=>x*2))'",
     "true [ 2, 4 ]\n"},
    {"NodeWorkers", "node",
     "node -e 'const {Worker}=require(\"worker_threads\"); new Worker(\"console.log(7)\",{eval:true})'", "7\n"},
    {"Git", "git",
     "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x > f && git add f && git "
     "commit -qm m && git log --format=%s",
     "m\n"},
    {"GccAndMake", "gcc",
     "printf '#include <stdio.h>\\nint main(){puts(\"built\");}' > a.c && printf 'a: a.c\\n\\tgcc -o a a.c\\n' > "
     "Makefile && make -s a && ./a",
     "built\n"},
    {"Cxx", "g++", "printf '#include <iostream>\\nint main(){std::cout<<20+22;}' > a.cc && g++ -o a a.cc && ./a", "42"},
    {"Java", "java",
     "printf 'class A{public static void main(String[] a){System.out.println(6*7);}}' > A.java && java A.java", "42\n"},
    {"Perl", "perl", "perl -e 'print 6*7'", "42"},
    {"StraceOnAChild", "strace", "strace -f -o t sh -c 'true' && grep -c execve t", "1\n"},
    {"GdbOnAChild", "gdb",
     "gdb -q -batch -ex run -ex 'info inferiors' --args true 2>/dev/null | grep -c 'exited normally'", "1\n"},
    {"DpkgQuery", "dpkg", "dpkg -s dpkg | head -1", "Package: dpkg\n"},
    {"PackagesUnpackAsRoot", "dpkg",
     "mkdir -p p/DEBIAN p/usr/bin && printf 'Package: tiny\\nVersion: 1\\nArchitecture: all\\nMaintainer: "
     "m\\nDescription: d\\n' > p/DEBIAN/control && "
     "printf '#!/bin/sh\\necho tiny\\n' > p/usr/bin/tiny && chmod 755 p/usr/bin/tiny && dpkg-deb -b p tiny.deb "
     ">/dev/null && "
     "sudo dpkg -i tiny.deb >/dev/null && tiny",
     "tiny\n"},
    {"Tmux", "tmux", "tmux -L x new-session -d 'echo in tmux > f' && sleep 0.5 && cat f", "in tmux\n"},
    {"Unicode", "python3", "python3 -c 'print(\"žluťoučký 🐎\")'", "žluťoučký 🐎\n"},
    {"LocalServer", "python3",
     "python3 -m http.server 8000 >/dev/null 2>&1 & for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; python3 -c 'import "
     "urllib.request as u; print(u.urlopen(\"http://localhost:8000\").status)' 2>/dev/null && break; done",
     "200\n"},
    {"DevShm", "python3",
     "python3 -c 'from multiprocessing import shared_memory as s; m=s.SharedMemory(create=True,size=99); m.unlink(); "
     "print(1)'",
     "1\n"},
    {"PrivateTmp", "sh", "echo x > /tmp/f && cat /tmp/f && ls /tmp", "x\nf\n"},
};

class Programs : public testing::TestWithParam<Program> {};

TEST_P(Programs, Work) {
  if (!installed(GetParam().needs)) GTEST_SKIP() << GetParam().needs << " is not installed on this machine";
  COVE_NEEDS_ROOT();
  Outcome outcome = cove({"run", "--timeout", "60s", "--", "sh", "-c", GetParam().script});
  EXPECT_EQ(outcome.out, GetParam().output) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Of, Programs, testing::ValuesIn(kPrograms), [](const auto& test) { return test.param.name; });

TEST(Nesting, LetsUserNamespacesBeUsedInside) {
  COVE_NEEDS_ROOT();
  const std::string nested = "unshare -Ur id -u";
  EXPECT_NE(cove({"run", "--", "sh", "-c", nested}).exit_code, 0);
  EXPECT_EQ(cove({"run", "--nesting", "--", "sh", "-c", nested}).out, "0\n");
}

TEST(Nesting, RunsBubblewrapInside) {
  COVE_NEEDS_ROOT();
  if (!installed("bwrap")) GTEST_SKIP() << "bwrap is not installed on this machine";
  Outcome outcome =
      cove({"run", "--nesting", "--", "bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc",
            "/proc", "--tmpfs", "/tmp", "sh", "-c", "ls -d /proc/[0-9]* | wc -l; cat /sys/.closed/proc/uptime"});
  // Its own processes; the whole /proc that lets it have one is closed.
  EXPECT_NE(outcome.out, "") << outcome.err;
  EXPECT_LE(std::atoi(outcome.out.c_str()), 5) << outcome.out;
  EXPECT_EQ(outcome.out.find('.'), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("Permission denied"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace cove::test
