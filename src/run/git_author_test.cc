#include "run/git_author.h"

#include <gtest/gtest.h>

namespace cove {
namespace {

TEST(GitAuthor, IsWrittenAsGitReadsIt) {
  EXPECT_EQ(git_config_of({}), "");
  EXPECT_EQ(git_config_of({.name = "Ada Lovelace", .email = "ada@example.org"}),
            "[user]\n\tname = \"Ada Lovelace\"\n\temail = \"ada@example.org\"\n");
  EXPECT_EQ(git_config_of({.name = "A \"B\" \\ # C", .email = ""}), "[user]\n\tname = \"A \\\"B\\\" \\\\ # C\"\n");
}

}  // namespace
}  // namespace cove
