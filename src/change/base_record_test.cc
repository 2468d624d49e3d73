#include "change/base_record.h"

#include <grp.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "change/testing.h"
#include "sys/process.h"

namespace cove::change {
namespace {

constexpr BaseEntry kNone = {};

class Base : public FolderTest {
 protected:
  BaseRecord record(const BaseLimits& limits = {}) const {
    Result<BaseRecord> record = record_base(open().get(), limits);
    EXPECT_TRUE(record) << record.error().message();
    return record ? std::move(*record) : BaseRecord{};
  }
  static const BaseEntry& entry(const BaseRecord& record, const std::string& path) {
    auto found = std::ranges::find(record.entries, path, &BaseEntry::path);
    EXPECT_NE(found, record.entries.end()) << path;
    return found == record.entries.end() ? kNone : *found;
  }
  static bool has(const BaseRecord& record, const std::string& path) {
    return std::ranges::find(record.entries, path, &BaseEntry::path) != record.entries.end();
  }
  static std::string content(const BaseRecord& record, const std::string& path) {
    auto found = record.copies.find(entry(record, path).id);
    return found == record.copies.end() ? "(none)" : found->second;
  }
  static std::map<std::string, Gap> gaps(const BaseRecord& record) {
    std::map<std::string, Gap> found;
    for (const Uncovered& uncovered : record.uncovered) found[uncovered.path] = uncovered.gap;
    return found;
  }
  std::string blob_id(const std::string& path, const std::string& folder = "") const {
    return std::string(trim(git({"rev-parse", ":" + path}, folder)));
  }

  using Changes = std::map<std::string, What>;
  Changes changes(const BaseRecord& base, const BaseLimits& limits = {}) const {
    Result<std::vector<PathChange>> found = changed_since(base, open().get(), limits);
    EXPECT_TRUE(found) << found.error().message();
    Changes by_path;
    for (const PathChange& change : found.value_or(std::vector<PathChange>{})) {
      EXPECT_FALSE(by_path.contains(change.path)) << change.path << " twice";
      by_path[change.path] = change.what;
    }
    return by_path;
  }

  // How many files were read.
  static BaseLimits counting(int& count) {
    BaseLimits limits;
    limits.after_reading = [&count](const std::string&) { ++count; };
    return limits;
  }
};

TEST_F(Base, AFolderWithoutGitIsCopiedWhileThereIsRoom) {
  write("a.txt", "alpha", 0640);
  write("sub/run", "#!/bin/sh\n", 0755);
  write("big", std::string(2 << 20, 'b'));
  write("empty", "");
  ASSERT_TRUE(sys::mkdir(path_ + "/hollow", 0700));
  ASSERT_TRUE(sys::symlink("/etc/passwd", path_ + "/out"));
  ASSERT_TRUE(sys::symlink("/etc", path_ + "/etc"));
  ASSERT_EQ(::mkfifo((path_ + "/fifo").c_str(), 0600), 0);
  BaseRecord base = record();
  EXPECT_EQ(base.entries.size(), 9u);
  EXPECT_EQ(entry(base, "a.txt").kept, Kept::Copy);
  EXPECT_EQ(entry(base, "a.txt").mode, 0640u);
  EXPECT_EQ(entry(base, "a.txt").stamp.size, 5u);
  EXPECT_EQ(content(base, "a.txt"), "alpha");
  EXPECT_EQ(content(base, "sub/run"), "#!/bin/sh\n");
  EXPECT_EQ(content(base, "empty"), "");
  EXPECT_EQ(entry(base, "big").kept, Kept::Hash);
  EXPECT_EQ(entry(base, "big").id, test::run({"sha256sum", path_ + "/big"}).out.substr(0, 64));
  EXPECT_EQ(entry(base, "hollow").kind, Kind::Folder);
  EXPECT_EQ(entry(base, "hollow").mode, 0700u);
  EXPECT_EQ(entry(base, "out").kind, Kind::Link);
  EXPECT_EQ(entry(base, "out").target, "/etc/passwd");
  EXPECT_EQ(entry(base, "etc").target, "/etc");
  EXPECT_EQ(entry(base, "fifo").kind, Kind::Other);
  EXPECT_TRUE(base.uncovered.empty());
}

TEST_F(Base, LimitsBoundWhatIsCopiedAndRead) {
  for (char name = 'a'; name <= 'f'; ++name) write(std::string(1, name), std::string(100, name));
  auto count = [](const BaseRecord& base, Kept kept) {
    return std::ranges::count(base.entries, kept, &BaseEntry::kept);
  };
  BaseLimits few;
  few.copies = 2;
  EXPECT_EQ(count(record(few), Kept::Copy), 2);
  EXPECT_EQ(count(record(few), Kept::Hash), 4);
  BaseLimits small;
  small.all_copies_bytes = 350;
  EXPECT_EQ(count(record(small), Kept::Copy), 3);
  BaseLimits smaller;
  smaller.copy_bytes = 99;
  EXPECT_EQ(count(record(smaller), Kept::Copy), 0);
  BaseLimits blind;
  blind.read_bytes = 250;
  EXPECT_EQ(count(record(blind), Kept::Copy), 2);
  EXPECT_EQ(count(record(blind), Kept::Stat), 4);
  BaseLimits tiny;
  tiny.entries = 5;
  Result<BaseRecord> refused = record_base(open().get(), tiny);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::Exhausted);
}

TEST_F(Base, CleanFilesAreBlobsAndAreNotRead) {
  init_git();
  write_old("a.txt", "alpha");
  write_old("sub/b.txt", "beta");
  commit_all();
  int read = 0;
  BaseRecord base = record(counting(read));
  EXPECT_EQ(read, 0);
  for (const char* path : {"a.txt", "sub/b.txt"}) {
    EXPECT_EQ(entry(base, path).kept, Kept::Blob) << path;
    EXPECT_EQ(entry(base, path).id, blob_id(path)) << path;
  }
  ASSERT_EQ(base.repositories.size(), 1u);
  EXPECT_EQ(base.repositories[0].folder, "");
  EXPECT_EQ(base.repositories[0].git_folder, ".git");
  for (const BaseEntry& each : base.entries) EXPECT_FALSE(each.path.starts_with(".git/")) << each.path;
  EXPECT_TRUE(base.copies.empty());
}

TEST_F(Base, FilesAreTakenForWhatTheyAre) {
  init_git();
  write(".gitignore", "*.log\nnode_modules/\n");
  for (const char* path : {"clean", "dirty", "staged", "touched", "same_size", "gone", "renamed_from"})
    write_old(path, concat("first ", path));
  commit_all();
  write("dirty", "second, longer");
  write_old("same_size", "FIRST same_size");
  write("staged", "staged");
  git({"add", "staged"});
  write("touched", "first touched");
  git({"mv", "renamed_from", "renamed_to"});
  ASSERT_EQ(::unlink((path_ + "/gone").c_str()), 0);
  write("untracked", "new");
  write("x.log", "ignored");
  write("node_modules/deep/x.js", "ignored");
  write("announced", "announced");
  git({"add", "-N", "announced"});
  BaseRecord base = record();
  auto kept = [&](const char* path) { return entry(base, path).kept; };
  EXPECT_EQ(kept("clean"), Kept::Blob);
  EXPECT_EQ(kept("dirty"), Kept::Copy);
  EXPECT_EQ(content(base, "dirty"), "second, longer");
  EXPECT_EQ(kept("same_size"), Kept::Copy) << "only its change time tells";
  EXPECT_EQ(content(base, "same_size"), "FIRST same_size");
  EXPECT_EQ(kept("staged"), Kept::Blob);
  EXPECT_EQ(entry(base, "staged").id, blob_id("staged"));
  EXPECT_EQ(kept("touched"), Kept::Blob) << "its content is the blob's";
  EXPECT_EQ(kept("renamed_to"), Kept::Blob);
  EXPECT_FALSE(has(base, "gone"));
  EXPECT_FALSE(has(base, "renamed_from"));
  EXPECT_EQ(content(base, "untracked"), "new");
  EXPECT_EQ(content(base, "announced"), "announced");
  EXPECT_EQ(kept("x.log"), Kept::Hash);
  EXPECT_EQ(kept("node_modules/deep/x.js"), Kept::Hash);
}

TEST_F(Base, IndexVersionsAndHashesAreUnderstood) {
  git({"init", "-q", "--object-format=sha256"});
  for (int i = 0; i < 20; ++i) write_old(concat("folder/file-", i), concat("content ", i));
  commit_all();
  git({"update-index", "--index-version", "4"});
  int read = 0;
  BaseRecord base = record(counting(read));
  EXPECT_EQ(base.repositories.at(0).hash, HashKind::Sha256);
  EXPECT_EQ(entry(base, "folder/file-7").id, blob_id("folder/file-7"));
  EXPECT_EQ(entry(base, "folder/file-7").id.size(), 64u);
  EXPECT_EQ(read, 0);
  write_old("folder/file-7", "content X");
  EXPECT_EQ(changes(base), (Changes{{"folder/file-7", What::Modified}}));
}

TEST_F(Base, SubmodulesAndNestedRepositoriesAreTheirOwn) {
  std::string other = top_ + "/other";
  ASSERT_TRUE(sys::mkdir(other, 0755));
  ASSERT_TRUE(sys::write_file(other + "/inner.txt", "inner"));
  init_git();
  git({"init", "-q"}, "../other");
  git({"add", "-A"}, "../other");
  git({"commit", "-q", "-m", "all"}, "../other");
  write("outer.txt", "outer");
  git({"submodule", "--quiet", "add", other, "module"});
  commit_all();
  write("nested/n.txt", "nested");
  git({"init", "-q"}, "nested");
  git({"add", "-A"}, "nested");
  write("nested/.gitignore", "*.skip\n");
  write("nested/x.skip", "skipped");
  write("x.skip", "not skipped");
  BaseRecord base = record();
  ASSERT_EQ(base.repositories.size(), 3u);
  EXPECT_TRUE(base.uncovered.empty());
  const BaseEntry& inner = entry(base, "module/inner.txt");
  EXPECT_EQ(inner.kept, Kept::Blob);
  EXPECT_EQ(inner.id, blob_id("inner.txt", "module"));
  EXPECT_EQ(base.repositories[inner.repository].folder, "module");
  EXPECT_EQ(base.repositories[inner.repository].git_folder, ".git/modules/module");
  EXPECT_EQ(base.repositories[entry(base, "nested/n.txt").repository].git_folder, "nested/.git");
  EXPECT_EQ(base.repositories[entry(base, "outer.txt").repository].folder, "");
  EXPECT_EQ(entry(base, "nested/x.skip").kept, Kept::Hash);
  EXPECT_EQ(entry(base, "x.skip").kept, Kept::Copy);
  EXPECT_EQ(changes(base), Changes{});
}

TEST_F(Base, GitFilesOutsideOfTheFolderAreNotRead) {
  std::string main = top_ + "/main";
  ASSERT_TRUE(sys::mkdir(main, 0755));
  ASSERT_TRUE(sys::write_file(main + "/a.txt", "alpha"));
  for (auto words : {std::vector<std::string>{"init", "-q"},
                     {"add", "-A"},
                     {"commit", "-q", "-m", "all"},
                     {"worktree", "add", "-q", path_ + "/tree"}})
    git(words, "../main");
  write("tree/.gitignore", "*.log\n");
  write("tree/x.log", "log");
  BaseRecord base = record();
  EXPECT_EQ(gaps(base), (std::map<std::string, Gap>{{"tree/.git", Gap::Repository}}));
  EXPECT_EQ(content(base, "tree/a.txt"), "alpha");
  EXPECT_EQ(entry(base, "tree/x.log").kept, Kept::Hash) << "what it ignores is heeded all the same";
  EXPECT_EQ(changes(base), Changes{});
}

TEST_F(Base, PreparedRepositoriesAreHarmless) {
  init_git();
  write("a.txt", "alpha");
  commit_all();
  std::string canary = top_ + "/canary";
  write("evil", concat("#!/bin/sh\ntouch ", canary, "\n"), 0755);
  for (const char* setting : {"core.fsmonitor", "core.hooksPath", "diff.external", "core.pager", "filter.x.clean"})
    git({"config", setting, path_ + "/evil"});
  write(".gitattributes", "* filter=x\n");
  EXPECT_EQ(entry(record(), "a.txt").kept, Kept::Blob);
  // git's own files as links and pipes.
  std::string index = path_ + "/.git/index";
  ASSERT_TRUE(sys::rename(index, top_ + "/index"));
  ASSERT_TRUE(sys::symlink("../../index", index));
  EXPECT_TRUE(gaps(record()).contains(".git"));
  ASSERT_EQ(::unlink(index.c_str()), 0);
  ASSERT_EQ(::mkfifo(index.c_str(), 0600), 0);
  EXPECT_TRUE(gaps(record()).contains(".git"));
  ASSERT_EQ(::unlink(index.c_str()), 0);
  ASSERT_TRUE(sys::write_file(index, "DIRC, but nothing else"));
  EXPECT_TRUE(gaps(record()).contains(".git"));
  ASSERT_TRUE(sys::rename(path_ + "/.git", top_ + "/git"));
  for (const std::string& target : {std::string("../git"), top_ + "/git"}) {
    ASSERT_TRUE(sys::symlink(target, path_ + "/.git"));
    EXPECT_TRUE(gaps(record()).contains(".git"));
    ASSERT_EQ(::unlink((path_ + "/.git").c_str()), 0);
    write(".git", concat("gitdir: ", target, "\n"));
    EXPECT_TRUE(gaps(record()).contains(".git"));
    ASSERT_EQ(::unlink((path_ + "/.git").c_str()), 0);
  }
  EXPECT_EQ(content(record(), "a.txt"), "alpha");
  EXPECT_FALSE(sys::exists(canary));
}

TEST_F(Base, ABlobIsTheVeryContentOfItsFile) {
  init_git();
  write(".gitattributes", "*.txt text eol=crlf\n");
  write_old("dos.txt", "one\r\ntwo\r\n");
  write_old("other", "one\n");
  commit_all();
  ASSERT_EQ(git({"cat-file", "blob", ":dos.txt"}), "one\ntwo\n");
  ASSERT_EQ(git({"status", "--porcelain"}), "");
  BaseRecord base = record();
  EXPECT_EQ(content(base, "dos.txt"), "one\r\ntwo\r\n");
  EXPECT_EQ(entry(base, "other").kept, Kept::Blob);
  // The same by configuration.
  write(".gitattributes", "\n");
  git({"config", "core.autocrlf", "true"});
  EXPECT_EQ(content(record(), "dos.txt"), "one\r\ntwo\r\n");
}

TEST_F(Base, ARecordIsTheSameWhenItWasSaved) {
  init_git();
  write("clean", "clean");
  commit_all();
  write("copy", "copied");
  write("\xff\xfe name\nwith lines", "odd");
  ASSERT_TRUE(sys::symlink("\xfe target", path_ + "/link"));
  ASSERT_EQ(::mkfifo((path_ + "/fifo").c_str(), 0600), 0);
  BaseLimits limits;
  limits.copies = 1;
  BaseRecord base = record(limits);
  base.uncovered.push_back({"\xff", Gap::Mount});
  ASSERT_TRUE(save_base(base, open_record().get()));
  Result<BaseRecord> loaded = load_base(open_record().get());
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->device, base.device);
  EXPECT_EQ(loaded->inode, base.inode);
  EXPECT_EQ(loaded->taken_ns, base.taken_ns);
  ASSERT_EQ(loaded->entries.size(), base.entries.size());
  for (size_t i = 0; i < base.entries.size(); ++i) {
    const BaseEntry &one = base.entries[i], &other = loaded->entries[i];
    EXPECT_EQ(std::tie(one.path, one.kind, one.mode, one.stamp, one.kept, one.id, one.target, one.repository),
              std::tie(other.path, other.kind, other.mode, other.stamp, other.kept, other.id, other.target,
                       other.repository));
  }
  EXPECT_EQ(gaps(*loaded), gaps(base));
  EXPECT_EQ(loaded->repositories.size(), 1u);
  std::string id = entry(base, "copy").id;
  EXPECT_EQ(read_copy(open_record().get(), id).value_or(""), "copied");
  EXPECT_EQ(changes(*loaded), Changes{});
  // Damage is noticed.
  std::string file = top_ + "/record/base";
  std::string text = sys::read_file(file).value_or("");
  for (size_t cut : {text.size() - 1, text.size() / 2, text.find('\n') + 1, size_t{0}}) {
    ASSERT_TRUE(sys::write_file(file, text.substr(0, cut)));
    EXPECT_FALSE(load_base(open_record().get())) << cut;
  }
  ASSERT_TRUE(sys::write_file(file, text + "{}\n"));
  EXPECT_FALSE(load_base(open_record().get()));
  ASSERT_TRUE(sys::write_file(top_ + "/record/copies/" + id, "forged"));
  EXPECT_FALSE(read_copy(open_record().get(), id));
  EXPECT_FALSE(read_copy(open_record().get(), "../base"));
}

TEST_F(Base, ChangesAreFound) {
  init_git();
  for (const char* path : {"tracked", "deleted", "mode", "touched", "rewritten", "moved", "sub/deep", "swapped"})
    write_old(path, concat("first ", path));
  commit_all();
  write("untracked", "new");
  write("untracked_deleted", "new");
  ASSERT_TRUE(sys::symlink("tracked", path_ + "/link"));
  ASSERT_TRUE(sys::mkdir(path_ + "/hollow", 0755));
  BaseRecord base = record();
  EXPECT_EQ(changes(base), Changes{});
  write("tracked", "second");
  write_old("rewritten", "FIRST rewritten");
  ASSERT_EQ(::unlink((path_ + "/deleted").c_str()), 0);
  ASSERT_EQ(::chmod((path_ + "/mode").c_str(), 0755), 0);
  write("touched", "first touched");
  ASSERT_TRUE(sys::rename(path_ + "/moved", path_ + "/moved_to"));
  ASSERT_EQ(::unlink((path_ + "/swapped").c_str()), 0);
  ASSERT_TRUE(sys::symlink("tracked", path_ + "/swapped"));
  ASSERT_EQ(::unlink((path_ + "/link").c_str()), 0);
  ASSERT_TRUE(sys::symlink("elsewhere", path_ + "/link"));
  write("untracked", "NEW");
  ASSERT_EQ(::unlink((path_ + "/untracked_deleted").c_str()), 0);
  write("added", "added");
  write("sub/new/file", "added");
  ASSERT_EQ(::chmod((path_ + "/hollow").c_str(), 0700), 0);
  write(".git/hooks/evil", "not found at");
  EXPECT_EQ(changes(base), (Changes{{"tracked", What::Modified},
                                    {"rewritten", What::Modified},
                                    {"deleted", What::Deleted},
                                    {"mode", What::ModeChanged},
                                    {"moved", What::Deleted},
                                    {"moved_to", What::Added},
                                    {"swapped", What::Modified},
                                    {"link", What::Modified},
                                    {"untracked", What::Modified},
                                    {"untracked_deleted", What::Deleted},
                                    {"added", What::Added},
                                    {"sub/new", What::Added},
                                    {"sub/new/file", What::Added},
                                    {"hollow", What::ModeChanged}}));
}

TEST_F(Base, WhatWasNotReadCannotBeCompared) {
  write_old("a", "one");
  write_old("b", "two");
  BaseLimits blind;
  blind.read_bytes = 0;
  BaseRecord base = record(blind);
  write("a", "ONE");
  EXPECT_EQ(changes(base)["a"], What::Unknown);
  // What was recorded, but is too much to read now.
  BaseRecord full = record();
  write("b", "TWO");
  EXPECT_EQ(changes(full, blind)["b"], What::Unknown);
  write("b", "longer");
  EXPECT_EQ(changes(full, blind)["b"], What::Modified) << "its size tells";
}

TEST_F(Base, AnotherFolderInItsPlaceIsNoticed) {
  write("a", "one");
  BaseRecord base = record();
  ASSERT_TRUE(sys::rename(path_, path_ + "-moved"));
  ASSERT_TRUE(sys::mkdir(path_, 0755));
  write("a", "one");
  Result<std::vector<PathChange>> found = changed_since(base, open().get());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::Conflict);
  // The folder itself may move.
  ASSERT_TRUE(sys::remove_tree(path_));
  ASSERT_TRUE(sys::rename(path_ + "-moved", path_));
  EXPECT_EQ(changes(base), Changes{});
}

TEST_F(Base, AFileThatChangesWhileItIsReadIsReadAgain) {
  write("a", "first");
  int rounds = 0;
  BaseLimits limits;
  limits.after_reading = [&](const std::string& path) {
    if (++rounds == 1) write(path, "second, longer");
  };
  EXPECT_EQ(content(record(limits), "a"), "second, longer");
  EXPECT_EQ(rounds, 2);
}

TEST_F(Base, AFileThatDoesNotStopChangingIsTold) {
  write("a", "first");
  write("b", "other");
  BaseLimits limits;
  int rounds = 0;
  limits.after_reading = [&](const std::string& path) {
    if (path == "a") write(path, std::string(static_cast<size_t>(++rounds) * 10, 'x'));
  };
  BaseRecord base = record(limits);
  EXPECT_EQ(gaps(base), (std::map<std::string, Gap>{{"a", Gap::Changing}}));
  EXPECT_EQ(entry(base, "a").kept, Kept::Stat);
  EXPECT_EQ(content(base, "b"), "other");
  EXPECT_EQ(changes(base)["a"], What::Unknown);
}

TEST_F(Base, WhatIsSwappedForALinkMeanwhileIsNotFollowed) {
  ASSERT_TRUE(sys::mkdir(top_ + "/outside", 0755));
  ASSERT_TRUE(sys::write_file(top_ + "/outside/file", "secret"));
  write("a", "first");
  write("folder/file", "inside");
  write("z", "last");
  BaseLimits limits;
  limits.after_reading = [&](const std::string& path) {
    if (path != "a") return;
    ASSERT_TRUE(sys::rename(path_ + "/folder", path_ + "/aside"));
    ASSERT_TRUE(sys::symlink("../outside", path_ + "/folder"));
    ASSERT_EQ(::unlink((path_ + "/z").c_str()), 0);
    ASSERT_EQ(::mkfifo((path_ + "/z").c_str(), 0600), 0);
  };
  BaseRecord base = record(limits);
  for (const auto& [id, copy] : base.copies) EXPECT_NE(copy, "secret");
  EXPECT_FALSE(has(base, "folder/file"));
  EXPECT_FALSE(has(base, "z"));
  EXPECT_EQ(content(base, "a"), "first");
}

// A child with other rights or mounts than this process; true where all was as it should be.
bool in_child(const std::function<bool()>& attempt) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(attempt() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(Base, WhatIsMountedInTheFolderIsTold) {
  COVE_NEEDS_ROOT();
  write("a", "one");
  write("mounted/below", "covered");
  write("file", "covered");
  BaseRecord before = record();
  EXPECT_TRUE(in_child([&] {
    bool mounted = sys::unshare(CLONE_NEWNS) && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   ::mount("none", (path_ + "/mounted").c_str(), "tmpfs", 0, nullptr) == 0 &&
                   // The same file system, mounted again: only the mount's id differs.
                   ::mount((path_ + "/a").c_str(), (path_ + "/file").c_str(), nullptr, MS_BIND, nullptr) == 0;
    BaseRecord base = record();
    return mounted && !HasFailure() && !has(base, "mounted/below") && !has(base, "file") &&
           gaps(base) == std::map<std::string, Gap>{{"mounted", Gap::Mount}, {"file", Gap::Mount}} &&
           changes(before) == Changes{{"mounted", What::Unknown}, {"file", What::Unknown}} && !HasFailure();
  }));
  EXPECT_EQ(changes(before), Changes{});
}

TEST_F(Base, WhatCannotBeReadIsTold) {
  COVE_NEEDS_ROOT();
  write("open", "open");
  write("closed", "closed", 0600);
  write("folder/file", "closed");
  ASSERT_EQ(::chmod((path_ + "/folder").c_str(), 0700), 0);
  write("list_only/file", "closed");
  ASSERT_EQ(::chmod((path_ + "/list_only").c_str(), 0744), 0);
  ASSERT_EQ(::chmod(top_.c_str(), 0755), 0);
  EXPECT_TRUE(in_child([&] {
    constexpr uid_t kNobody = 65534;
    if (::setgroups(0, nullptr) < 0 || ::setresgid(kNobody, kNobody, kNobody) < 0 ||
        ::setresuid(kNobody, kNobody, kNobody) < 0)
      return false;
    BaseRecord base = record();
    return gaps(base) == std::map<std::string, Gap>{{"closed", Gap::Unreadable},
                                                    {"folder", Gap::Unreadable},
                                                    {"list_only", Gap::Unreadable}} &&
           entry(base, "closed").kept == Kept::Stat && entry(base, "open").kept == Kept::Copy && !HasFailure();
  }));
}

TEST_F(Base, TenThousandFilesAreNoTrouble) {
  init_git();
  for (int i = 0; i < 10'000; ++i) write_old(concat("folder-", i % 100, "/file-", i), concat("content ", i));
  commit_all();
  int read = 0;
  BaseRecord base = record(counting(read));
  EXPECT_EQ(base.entries.size(), 10'100u);
  EXPECT_EQ(read, 0);
  ASSERT_TRUE(save_base(base, open_record().get()));
  Result<BaseRecord> loaded = load_base(open_record().get());
  ASSERT_TRUE(loaded);
  write("folder-50/file-50", "other");
  EXPECT_EQ(changes(*loaded), (Changes{{"folder-50/file-50", What::Modified}}));
}

TEST_F(Base, DeepPathsAreTold) {
  std::string name(250, 'd');
  UniqueFd folder = open();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(::mkdirat(folder.get(), name.c_str(), 0755), 0);
    folder.reset(::openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  BaseRecord base = record();
  ASSERT_EQ(base.uncovered.size(), 1u);
  EXPECT_EQ(base.uncovered[0].gap, Gap::TooDeep);
  EXPECT_EQ(changes(base).size(), 1u);
}

}  // namespace
}  // namespace cove::change
