// `cove run` as a user meets it.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/person.h"

namespace cove::test {
namespace {

class Run : public ForEverybody {
 protected:
  nlohmann::json json(std::vector<std::string> args, const std::string& input = {}) const {
    args.insert(args.begin(), {"run", "--json"});
    Outcome outcome = cove(args, input);
    nlohmann::json result = nlohmann::json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(result.is_object()) << outcome.out << outcome.err;
    return result;
  }
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST_P(Run, BehavesAsTheCommandWould) {
  EXPECT_EQ(cove({"run", "--", "echo", "hello"}).out, "hello\n");
  EXPECT_EQ(cove({"run", "echo", "no dashes needed"}).out, "no dashes needed\n");
  EXPECT_EQ(cove({"run", "--", "sh", "-c", "exit 3"}).exit_code, 3);
  EXPECT_EQ(cove({"run", "--", "sh", "-c", "kill -TERM $$"}).exit_code, 143);
  EXPECT_EQ(cove({"run", "--", "cat"}, "through stdin").out, "through stdin");
  EXPECT_EQ(cove({"run", "--", "python3", "-c", "print(6*7)"}).out, "42\n");
}

TEST_P(Run, TellsItsOwnFailuresFromTheProgramsOwn) {
  EXPECT_EQ(cove({"run", "--", "no-such-program"}).exit_code, 127);
  EXPECT_EQ(cove({"run", "--", "/etc"}).exit_code, 126);
  EXPECT_EQ(cove({"run", "-u", "nosuch", "--", "true"}).exit_code, 125);
  EXPECT_EQ(cove({"run", "-w", "/no/such", "--", "true"}).exit_code, 125);
  EXPECT_EQ(cove({"run", "--image", "debian:13", "--", "true"}).exit_code, 125);
}

TEST_P(Run, RunsSnippetsOfALanguage) {
  EXPECT_EQ(cove({"run", "--lang", "python", "-"}, "import sys; print(sys.argv[0]); sys.exit(4)").exit_code, 4);
  EXPECT_EQ(cove({"run", "--lang", "javascript", "-"}, "console.log(6*7)").out, "42\n");
  std::string script = folder() + "/hello.sh";
  write(script, "echo hello $1 from $(cat)");
  EXPECT_EQ(cove({"run", "--lang", "bash", script, "you"}, "stdin").out, "hello you from stdin\n");
  Outcome unknown = cove({"run", "--lang", "pyton", "-"});
  EXPECT_EQ(unknown.exit_code, 125);
  EXPECT_NE(unknown.err.find("python"), std::string::npos);
}

TEST_P(Run, GivesAStructuredResult) {
  nlohmann::json result = json({"--", "sh", "-c", "echo out; echo err >&2; exit 5"});
  EXPECT_EQ(result["status"], "error");
  EXPECT_EQ(result["exit_code"], 5);
  EXPECT_EQ(result["signal"], nullptr);
  EXPECT_EQ(result["stdout"]["text"], "out\n");
  EXPECT_EQ(result["stderr"]["bytes"], 4);
  EXPECT_EQ(result["where"], "sandbox");
  EXPECT_EQ(result["sandbox_id"].get<std::string>().size(), 20u);
  for (const char* name : {"cpus", "memory", "processes", "disk"})
    EXPECT_FALSE(result["limits"][name]["enforced_by"].get<std::string>().empty()) << name;
  for (const char* name : {"cpu_user_ms", "cpu_system_ms", "memory_peak_bytes", "disk_written_bytes", "processes_peak",
                           "io_read_bytes", "io_write_bytes", "net_in_bytes", "net_out_bytes"})
    EXPECT_TRUE(result["usage"][name].is_number()) << name;
}

TEST_P(Run, KeepsHeadAndTailOfALargeOutput) {
  nlohmann::json result =
      json({"--", "sh", "-c", "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last"});
  EXPECT_EQ(result["stdout"]["bytes"], 5000012);
  EXPECT_EQ(result["stdout"]["truncated"], true);
  std::string text = result["stdout"]["text"];
  EXPECT_LT(text.size(), 1100000u);
  EXPECT_TRUE(text.starts_with("first\n"));
  EXPECT_TRUE(text.ends_with("last\n"));
}

TEST_P(Run, StreamsMoreThanItRetains) {
  Outcome outcome = cove({"run", "--", "head", "-c", "30000000", "/dev/zero"});
  EXPECT_EQ(outcome.out.size(), 30000000u);
  EXPECT_EQ(outcome.exit_code, 0);
}

TEST_P(Run, ScrubsTheEnvironment) {
  ::setenv("SECRET_TOKEN", "leak", 1);
  std::string env = cove({"run", "-e", "GIVEN=1", "--", "env"}).out;
  EXPECT_EQ(env.find("SECRET_TOKEN"), std::string::npos);
  for (const char* line :
       {"GIVEN=1\n", "IS_SANDBOX=1\n", "HOME=/home/user\n", "PYTHONUNBUFFERED=1\n", "PIP_NO_INPUT=1\n",
        "NPM_CONFIG_YES=true\n", "DEBIAN_FRONTEND=noninteractive\n", "USER=user\n"})
    EXPECT_NE(env.find(line), std::string::npos) << line;
  EXPECT_EQ(cove({"run", "-e", "SECRET_TOKEN", "--", "sh", "-c", "echo $SECRET_TOKEN"}).out, "leak\n");
  std::string file = folder() + "/env";
  write(file, "# a comment\nA=from file\n\nB=two\n");
  EXPECT_EQ(cove({"run", "--env-file", file, "--", "sh", "-c", "echo $A $B"}).out, "from file two\n");
}

TEST_P(Run, CopiesFilesInAndOut) {
  std::string here = folder();
  std::filesystem::create_directories(here + "/in/deep");
  write(here + "/in/deep/data.txt", "42");
  if (GetParam().options.uid) {
    for (const char* name : {"/in", "/in/deep", "/in/deep/data.txt"})
      ASSERT_EQ(::chown((here + name).c_str(), *GetParam().options.uid, *GetParam().options.uid), 0);
  }
  Outcome outcome = cove(
      {"run", "--copy-in", here + "/in:/home/user/in", "--copy-out", "result*:" + here + "/out", "--", "sh", "-c",
       "mkdir -p results/sub; cp in/deep/data.txt results/sub/; echo x > result.txt; ln -s /etc/passwd resultlink"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read(here + "/out/results/sub/data.txt"), "42");
  EXPECT_EQ(read(here + "/out/result.txt"), "x\n");
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(here + "/out/resultlink")));
}

TEST_P(Run, ShowsTheWorkspaceWithTheAccessAskedFor) {
  std::string here = folder();
  write(here + "/file", "of the host");
  ASSERT_EQ(::chmod((here + "/file").c_str(), 0644), 0);
  EXPECT_EQ(cove({"run", "--workspace", here, "--", "sh", "-c", "pwd; cat file"}).out, "/workspace\nof the host");
  EXPECT_NE(cove({"run", "--workspace", here + ":ro", "--", "touch", "new"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(here + "/new"));
  EXPECT_EQ(cove({"run", "--workspace", here + ":rw", "--", "sh", "-c", "echo inside > new"}).exit_code, 0);
  EXPECT_EQ(read(here + "/new"), "inside\n");
  struct stat made, owner;
  ASSERT_EQ(::stat((here + "/new").c_str(), &made), 0);
  ASSERT_EQ(::stat(here.c_str(), &owner), 0);
  EXPECT_EQ(made.st_uid, owner.st_uid);
  EXPECT_EQ(made.st_gid, owner.st_gid);
}

// What it makes has an owner of its own outside, who is neither the machine's root nor anybody else on it.
TEST_P(Run, LetsRootInsideWriteToAWritableWorkspace) {
  std::string here = folder();
  Outcome made = cove({"run", "--workspace", here + ":rw", "--", "sudo", "sh", "-c", "echo of root > f; stat -c %U f"});
  EXPECT_EQ(made.out, "root\n") << made.err;
  EXPECT_EQ(read(here + "/f"), "of root\n");
  struct stat info;
  ASSERT_EQ(::stat((here + "/f").c_str(), &info), 0);
  EXPECT_NE(info.st_uid, 0u);
}

// Root inside of the next sandbox has power over it again, and may give it to the folder's owner.
TEST_P(Run, GivesRootInsideOneIdPerOwnerInWorkspaces) {
  if (rootless()) return;  // they are the caller's subordinate ids
  constexpr uid_t kOwner = 12345, kGroup = 23456, kRootThere = (uid_t{1} << 31) + kOwner;
  std::string here = folder();
  ASSERT_EQ(::chown(here.c_str(), kOwner, kGroup), 0);
  auto owners = [&] {
    struct stat info = {};
    ::stat((here + "/d/f").c_str(), &info);
    return std::pair(info.st_uid, info.st_gid);
  };
  auto run = [&](const std::string& shell) {
    Outcome outcome = cove({"run", "--workspace", here + ":rw", "--", "sudo", "sh", "-c", shell});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  };
  run("umask 077; mkdir d; echo x > d/f");
  EXPECT_EQ(owners(), std::pair(kRootThere, kRootThere));
  run("echo y >> d/f; chown -R user:user d");
  EXPECT_EQ(owners(), std::pair(kOwner, kGroup));
  run("chown root:root d/f");
  EXPECT_EQ(owners(), std::pair(kRootThere, kRootThere));
  ASSERT_EQ(::chown(here.c_str(), kOwner + 1, kGroup), 0);
  EXPECT_NE(cove({"run", "--workspace", here + ":rw", "--", "sudo", "sh", "-c", "echo z >> d/f"}).exit_code, 0);
}

TEST_P(Run, LetsNoSetIdFileBeMadeInAWritableWorkspace) {
  std::string here = folder();
  const char* script = R"(
import os
attempts = {
    'chmod': lambda: os.chmod('plain', 0o4755),
    'setgid': lambda: os.chmod('plain', 0o2755),
    'fchmod': lambda: os.fchmod(os.open('plain', os.O_RDWR), 0o6755),
    'open': lambda: os.open('opened', os.O_CREAT | os.O_WRONLY, 0o4755),
    'mknod': lambda: os.mknod('made', 0o100000 | 0o4755),
}
open('plain', 'w').close()
for name, attempt in attempts.items():
    try:
        attempt()
        print(name, 'done')
    except PermissionError:
        pass
os.chmod('plain', 0o755)
)";
  for (const char* user : {"user", "root"}) {
    Outcome outcome = cove({"run", "-u", user, "--workspace", here + ":rw", "--", "python3", "-c", script});
    EXPECT_EQ(outcome.out, "") << outcome.err;
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  for (const auto& entry : std::filesystem::directory_iterator(here)) {
    struct stat info;
    ASSERT_EQ(::lstat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & (S_ISUID | S_ISGID), 0u) << entry.path();
  }
}

TEST_P(Run, HasAUserARootAndSudo) {
  EXPECT_EQ(cove({"run", "--", "id", "-un"}).out, "user\n");
  EXPECT_EQ(cove({"run", "-u", "root", "--", "id", "-u"}).out, "0\n");
  EXPECT_EQ(cove({"run", "-u", "1234:4321", "--", "sh", "-c", "id -u; id -g"}).out,
            rootless() ? cove({"run", "-u", "1234:4321", "--", "sh", "-c", "id -u; id -g"}).out : "1234\n4321\n");
  EXPECT_EQ(cove({"run", "--", "sudo", "id", "-un"}).out, "root\n");
  EXPECT_EQ(cove({"run", "--", "sudo", "sh", "-c", "exit 6"}).exit_code, 6);
  EXPECT_EQ(cove({"run", "--", "sudo", "no-such-program"}).exit_code, 127);
  EXPECT_EQ(cove({"run", "--", "sh", "-c", "echo piped | sudo cat"}).out, "piped\n");
}

TEST_P(Run, GivesATerminal) {
  Outcome outcome = cove({"run", "-t", "--", "sh", "-c", "test -t 0 && test -t 1 && echo a terminal"});
  EXPECT_EQ(outcome.out, "a terminal\r\n");
}

TEST_P(Run, NamesTheSandbox) { EXPECT_EQ(cove({"run", "--name", "box-7", "--", "hostname"}).out, "box-7\n"); }

TEST_P(Run, RefusesWhatMakesNoSense) {
  struct Case {
    std::vector<std::string> args;
    std::string named;
  };
  const Case cases[] = {
      {{"run", "--no-such-option", "--", "true"}, "--no-such-option"},
      {{"run", "-m", "0", "--", "true"}, "-m: '0'"},
      {{"run", "-m", "-5", "--", "true"}, "-5"},
      {{"run", "-m", "1.5x", "--", "true"}, "1.5x"},
      {{"run", "-m", "9999t", "--", "true"}, "--memory"},
      {{"run", "--cpus", "0", "--", "true"}, "cpus"},
      {{"run", "--cpus", "100000", "--", "true"}, "100000"},
      {{"run", "--pids-limit", "x", "--", "true"}, "x"},
      {{"run", "--timeout", "soon", "--", "true"}, "soon"},
      {{"run", "--workspace", "/no/such/folder", "--", "true"}, "/no/such/folder"},
      {{"run", "--copy-in", "/no/such/file", "--", "true"}, "/no/such/file"},
      {{"run", "--env-file", "/no/such/file", "--", "true"}, "/no/such/file"},
      {{"run", "--network", "bridge", "--", "true"}, "bridge"},
      {{"run", "--image", "nosuch", "--", "true"}, "nosuch"},
      {{"run", "-w", "relative", "--", "true"}, "relative"},
      {{"run", "--lang", "cobol", "-"}, "cobol"},
      {{"run", "--lang", "python", "/no/such.py"}, "/no/such.py"},
      {{"run"}, "command"},
      {{"rnu", "--", "true"}, "rnu"},
  };
  Traces before = find_traces();
  for (const Case& wrong : cases) {
    Outcome outcome = cove(wrong.args);
    EXPECT_EQ(outcome.exit_code, 125) << wrong.args.back() << " " << wrong.named;
    EXPECT_NE(outcome.err.find(wrong.named), std::string::npos) << outcome.err;
    EXPECT_TRUE(outcome.out.empty());
  }
  EXPECT_EQ(describe(wait_for_traces(before)), describe(before));
}

// The workspace is a repository of the person's.
class Git : public ForEverybody {
 protected:
  void SetUp() override {
    here_ = folder();
    write(here_ + "/gitconfig", "[user]\n\tname = Ada \\\"L\\\" King\n\temail = ada@example.org\n");
    ::setenv("GIT_CONFIG_GLOBAL", (here_ + "/gitconfig").c_str(), 1);
    ASSERT_EQ(run({"git", "init", "-q", here_ + "/repo"}, GetParam().options).exit_code, 0);
  }
  void TearDown() override {
    ::unsetenv("GIT_CONFIG_GLOBAL");
    ForEverybody::TearDown();
  }
  Outcome inside(const std::string& script, const std::string& user = "user") const {
    return cove({"run", "--direct", "-u", user, "--workspace", here_ + "/repo:rw", "--", "sh", "-c", script});
  }
  std::string here_;
};
constexpr const char* kCommit = "git commit -q --allow-empty -m one && git log -1 --format='%an <%ae>'";

TEST_P(Git, CommitsAreTheCallers) {
  Outcome outcome = inside(kCommit);
  EXPECT_EQ(outcome.out, "Ada \"L\" King <ada@example.org>\n") << outcome.err;
}

TEST_P(Git, ARepositorysOwnAuthorIsKept) {
  EXPECT_EQ(inside(std::string("git config user.email own@example.org && ") + kCommit).out,
            "Ada \"L\" King <own@example.org>\n");
}

TEST_P(Git, RootInsideMayUseTheRepository) {
  Outcome outcome = inside("git status --short --branch | head -c 2; git config user.email", "root");
  EXPECT_EQ(outcome.out, "##ada@example.org\n") << outcome.err;
}

// A worktree of the repository, in a folder of its own.
class GitWorktree : public Git {
 protected:
  void SetUp() override {
    Git::SetUp();
    if (HasFatalFailure()) return;
    write(here_ + "/repo/file", "one\n");
    if (auto uid = GetParam().options.uid) {
      ASSERT_EQ(::chown((here_ + "/repo/file").c_str(), *uid, 0), 0);
    }
    for (std::string words : {"add file", "commit -q -m first", "worktree add -q ../tree"})
      ASSERT_EQ(run({"sh", "-c", "cd " + here_ + "/repo && git " + words}, GetParam().options).exit_code, 0) << words;
  }
  Outcome in_tree(const std::string& access, const std::string& script) const {
    return cove({"run", "--direct", "--workspace", here_ + "/tree:" + access, "--", "sh", "-c", script});
  }
};

TEST_P(GitWorktree, HasItsRepository) {
  for (const char* access : {"ro", "rw", "review"}) {
    Outcome outcome = in_tree(access, "git status --short && git log --format=%s && git diff --stat HEAD");
    EXPECT_EQ(outcome.out, "first\n") << access << ": " << outcome.err;
  }
  EXPECT_EQ(in_tree("rw", "echo two > file && git status --short").out, " M file\n");
}

// As git writes them with worktree.useRelativePaths.
TEST_P(GitWorktree, MayNameItsRepositoryByARelativePath) {
  write(here_ + "/tree/.git", "gitdir: ../repo/.git/worktrees/tree\n");
  write(here_ + "/repo/.git/worktrees/tree/gitdir", "../../../../tree/.git\n");
  EXPECT_EQ(in_tree("rw", "git log --format=%s").out, "first\n");
}

TEST_P(GitWorktree, CannotChangeItsRepository) {
  Outcome outcome = in_tree("rw",
                            "cd /.cove/git && for f in hooks/new config HEAD refs/heads/new; do echo x >> $f; done; "
                            "rm -f HEAD; cd /workspace; git commit -q --allow-empty -m two; rm -f .git; echo x > .git");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(run({"sh", "-c", "cd " + here_ + "/tree && git fsck && git log --format=%s"}, GetParam().options).out,
            "first\n");
  EXPECT_FALSE(std::filesystem::exists(here_ + "/repo/.git/hooks/new"));
  EXPECT_EQ(outcome.err.find("Permission denied"), std::string::npos) << outcome.err;
}

TEST_P(GitWorktree, NeedsARepositoryThatNamesIt) {
  std::filesystem::create_directories(here_ + "/other");
  std::filesystem::copy_file(here_ + "/tree/.git", here_ + "/other/.git");
  Outcome outcome =
      cove({"run", "--direct", "--workspace", here_ + "/other", "--", "sh", "-c", "ls -A /.cove/git; git status"});
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.exit_code, 0);
}

COVE_FOR_EVERYBODY(GitWorktree);

TEST_P(Git, NobodyIsNamedWithoutAWorkspace) {
  EXPECT_EQ(cove({"run", "--direct", "--", "git", "config", "user.name"}).exit_code, 1);
}

COVE_FOR_EVERYBODY(Git);

TEST_P(Run, WhatRootMadeInTheWorkspaceCanBeTakenBack) {
  std::string here = folder();
  const char* make = "mkdir -m 700 made && touch made/file && ln -s /etc made/link";
  ASSERT_EQ(cove({"run", "-u", "root", "--workspace", here + ":rw", "--", "sh", "-c", make}).exit_code, 0);
  Outcome taken = cove({"reclaim", here});
  if (!rootless()) {
    EXPECT_EQ(taken.exit_code, 125);
    EXPECT_NE(taken.err.find("chown"), std::string::npos) << taken.err;
    return;
  }
  EXPECT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_EQ(run({"rm", "-r", here + "/made"}, GetParam().options).exit_code, 0);
  EXPECT_EQ(cove({"reclaim", here}).out, here + ": 0 files are yours again\n");
}

COVE_FOR_EVERYBODY(Run);

}  // namespace
}  // namespace cove::test
