#include <gtest/gtest.h>

#include "cli/copy_target.h"
#include "cli/sandbox_path.h"

namespace cove::cli {
namespace {

std::string shown(const std::string& text) {
  PathWord word = parse_path_word(text);
  return word.sandbox + "|" + word.path;
}

TEST(SandboxPath, BeginsWithANameAndAColon) {
  EXPECT_EQ(shown("box:/tmp/x"), "box|/tmp/x");
  EXPECT_EQ(shown("box:rel/x"), "box|rel/x");
  EXPECT_EQ(shown("box:"), "box|.");
  EXPECT_EQ(shown("box:a:b"), "box|a:b");
  EXPECT_EQ(shown("k3v0q8n1x5d7w2m4c6b9:/"), "k3v0q8n1x5d7w2m4c6b9|/");
}

TEST(SandboxPath, IsElseOneOfThisMachine) {
  EXPECT_EQ(shown("file"), "|file");
  EXPECT_EQ(shown("/abs/with:colon"), "|/abs/with:colon");
  EXPECT_EQ(shown("./box:x"), "|./box:x");
  EXPECT_EQ(shown(":x"), "|:x");
  EXPECT_EQ(shown("-"), "|-");
  EXPECT_EQ(shown("-x:y"), "|-x:y");
  EXPECT_EQ(shown("a b:c"), "|a b:c");
  EXPECT_FALSE(parse_sandbox_path("/tmp"));
  EXPECT_EQ(parse_sandbox_path("/tmp").error().hint(), "write it as SANDBOX:PATH");
}

TEST(Paths, HaveAFolderAndAName) {
  EXPECT_EQ(base_name("/a/b/"), "b");
  EXPECT_EQ(base_name("b"), "b");
  EXPECT_EQ(base_name("/"), "");
  EXPECT_EQ(base_name("a/.."), "");
  EXPECT_EQ(folder_of("/a/b"), "/a");
  EXPECT_EQ(folder_of("/a"), "/");
  EXPECT_EQ(folder_of("a"), ".");
  EXPECT_EQ(below("/", "a"), "/a");
}

std::string target_of(Kind source_kind, const std::string& source, Kind target_kind, const std::string& target) {
  auto copy_target = find_copy_target(source_kind, source, target_kind, target);
  return copy_target ? copy_target->folder + "|" + copy_target->name : "refused";
}

TEST(CopyTarget, OfAFile) {
  EXPECT_EQ(target_of(Kind::File, "a/f", Kind::Nothing, "/x/g"), "/x|g");
  EXPECT_EQ(target_of(Kind::File, "a/f", Kind::File, "g"), ".|g");
  EXPECT_EQ(target_of(Kind::File, "a/f", Kind::Folder, "/x"), "/x|f");
  EXPECT_EQ(target_of(Kind::File, "a/f", Kind::Folder, "/x/"), "/x/|f");
  EXPECT_EQ(target_of(Kind::File, "a/f", Kind::Nothing, "/x/"), "refused");
}

TEST(CopyTarget, OfAFolder) {
  EXPECT_EQ(target_of(Kind::Folder, "a/d", Kind::Nothing, "/x"), "/x|");
  EXPECT_EQ(target_of(Kind::Folder, "a/d", Kind::Folder, "/x"), "/x|d");
  EXPECT_EQ(target_of(Kind::Folder, "a/d/", Kind::Folder, "/x"), "/x|d");
  EXPECT_EQ(target_of(Kind::Folder, "a/d/.", Kind::Folder, "/x"), "/x|");
  EXPECT_EQ(target_of(Kind::Folder, ".", Kind::Folder, "/x"), "/x|");
  EXPECT_EQ(target_of(Kind::Folder, "/", Kind::Folder, "/x"), "/x|root");
  EXPECT_EQ(target_of(Kind::Folder, "a/d", Kind::File, "/x"), "refused");
}

TEST(CopyTarget, OfNothing) { EXPECT_EQ(target_of(Kind::Nothing, "a", Kind::Folder, "/x"), "refused"); }

}  // namespace
}  // namespace cove::cli
