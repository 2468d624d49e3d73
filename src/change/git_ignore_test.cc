#include "change/git_ignore.h"

#include <random>
#include <set>

#include "base/text.h"
#include "change/testing.h"

namespace cove::change {
namespace {

class GitIgnore : public FolderTest {
 protected:
  // What git ignores of the paths, and what we do: the same.
  // How many git ignores.
  size_t expect_as_git_says(const std::vector<std::string>& paths) const {
    std::string input;
    for (const std::string& path : paths) input += path + '\0';
    std::set<std::string> ignored;
    for (const std::string& path : split(git({"check-ignore", "--no-index", "--stdin", "-z"}, "", input), '\0'))
      ignored.insert(path);
    IgnoreRules rules;
    for (const char* folder : {"", "src", "src/deep", "build"})
      rules.add(folder, sys::read_file(concat(path_, "/", folder, "/.gitignore")).value_or(""));
    rules.add_exclude(sys::read_file(path_ + "/.git/info/exclude").value_or(""));
    for (const std::string& path : paths) EXPECT_EQ(rules.ignores_file(path), ignored.contains(path)) << path;
    return ignored.size();
  }
};

TEST_F(GitIgnore, AgreesWithGit) {
  init_git();
  write(
      ".gitignore",
      "# a comment\n\\#hash\n\\!bang\n*.o\n!keep.o\n/root.txt\nbuild/\ndoc/*.txt\n**/cache\nlogs/**\n!logs/\n"
      "a/**/z\nspace \nescaped\\ \ntab\t\n[a-c].x\n[!a-c].y\n[[:digit:]]*.num\n?.q\n*.tmp\nfoo/bar\n/src/gen/\nx[]]y\n"
      "back\\\\slash\n*\\*star\nCase\n.hidden\n**\\/odd\ntail/**\nmid/*/leaf\n\r\nwin.txt\r\n[z-a].r\n[unclosed\n");
  write("src/.gitignore", "!*.o\n*.gen\n!important.tmp\n/only_here\ndeep/secret\n");
  write("src/deep/.gitignore", "*\n!.gitignore\n!visible\n");
  write("build/.gitignore", "!everything\n");
  ASSERT_TRUE(sys::make_folders(path_ + "/.git/info"));
  ASSERT_TRUE(sys::write_file(path_ + "/.git/info/exclude", "*.private\n!*.tmp\n"));
  std::vector<std::string> paths = {"a.o",
                                    "keep.o",
                                    "src/a.o",
                                    "src/keep.o",
                                    "root.txt",
                                    "src/root.txt",
                                    "build/x",
                                    "build/everything",
                                    "src/build/x",
                                    "doc/a.txt",
                                    "doc/sub/a.txt",
                                    "cache",
                                    "x/y/cache",
                                    "x/cache/file",
                                    "logs/a",
                                    "logs/b/c",
                                    "a/z",
                                    "a/b/z",
                                    "a/b/c/z",
                                    "a/b/c/zz",
                                    "space",
                                    "space ",
                                    "escaped ",
                                    "escaped",
                                    "tab\t",
                                    "tab",
                                    "a.x",
                                    "d.x",
                                    "a.y",
                                    "d.y",
                                    "5.num",
                                    "55.num",
                                    "x.num",
                                    "a.q",
                                    "ab.q",
                                    "x.tmp",
                                    "src/x.tmp",
                                    "src/important.tmp",
                                    "foo/bar",
                                    "x/foo/bar",
                                    "foo/bar/baz",
                                    "src/gen/x",
                                    "gen/x",
                                    "x]y",
                                    "xy",
                                    "back\\slash",
                                    "a*star",
                                    "astar",
                                    "Case",
                                    "case",
                                    ".hidden",
                                    "src/.hidden",
                                    "#hash",
                                    "!bang",
                                    "src/x.gen",
                                    "x.gen",
                                    "src/only_here",
                                    "src/sub/only_here",
                                    "src/deep/any",
                                    "src/deep/visible",
                                    "src/deep/.gitignore",
                                    "src/deep/more/visible",
                                    "src/deep/secret",
                                    "p.private",
                                    "src/p.private",
                                    "tail/x",
                                    "tail/x/y",
                                    "mid/a/leaf",
                                    "mid/a/b/leaf",
                                    "mid/leaf",
                                    "win.txt",
                                    "plain",
                                    "caf\xc3\xa9.o",
                                    "\xff.o",
                                    "odd",
                                    "x/odd",
                                    "m.r",
                                    "[unclosed",
                                    "unclosed"};
  EXPECT_GT(expect_as_git_says(paths), 30u);
}

// Random patterns over a few letters, where most of the special cases meet.
TEST_F(GitIgnore, AgreesWithGitOnRandomPatterns) {
  init_git();
  std::mt19937 random(11);
  constexpr std::string_view kPieces[] = {"a", "b", "*", "**", "/", "/", "?", "[ab]", "[!a]", "!", "**/", "/**", "\\a"};
  size_t ignored = 0;
  for (int round = 0; round < 40; ++round) {
    std::string rules;
    for (int line = 0; line < 4; ++line) {
      for (size_t pieces = 1 + random() % 5; pieces > 0; --pieces) rules += kPieces[random() % std::size(kPieces)];
      rules += '\n';
    }
    write(".gitignore", rules);
    std::set<std::string> paths;
    for (int i = 0; i < 30; ++i) {
      std::string path;
      for (size_t parts = 1 + random() % 3; parts > 0; --parts) {
        if (!path.empty()) path += '/';
        for (size_t letters = 1 + random() % 2; letters > 0; --letters) path += "abc"[random() % 3];
      }
      paths.insert(path);
    }
    SCOPED_TRACE(rules);
    ignored += expect_as_git_says({paths.begin(), paths.end()});
  }
  EXPECT_GT(ignored, 100u);
}

TEST_F(GitIgnore, APatternThatTakesTooLongMatchesNothing) {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "a*";
  EXPECT_FALSE(matches_path(pattern + "b", std::string(200, 'a')));
  EXPECT_TRUE(matches_path("*a*b", "xxaxxb"));
}

}  // namespace
}  // namespace cove::change
