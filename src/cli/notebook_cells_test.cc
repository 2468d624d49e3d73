#include "cli/notebook_cells.h"

#include <gtest/gtest.h>

namespace cove::cli {
namespace {

using Cells = std::vector<std::string>;

TEST(NotebookCells, BeginAtMarks) {
  EXPECT_EQ(split_cells("a\nb\n"), (Cells{"a\nb\n\n"}));
  EXPECT_EQ(split_cells("# %%\na\n# %% second\n\n#%%\nb"), (Cells{"a\n", "b\n"}));
  EXPECT_EQ(split_cells("a // %%\n// %%\nb"), (Cells{"a // %%\n", "b\n"}));
  EXPECT_EQ(split_cells("\n # %% no mark\n"), (Cells{"\n # %% no mark\n\n"}));
  EXPECT_TRUE(split_cells("").empty());
}

TEST(NotebookCells, GoOnWhileABlockIsOpen) {
  for (const char* whole : {"x = 1\n", "print(x)\n", "for i in x:\n  y\n\n", "f(\n1)\n\n"})
    EXPECT_FALSE(wants_more(whole)) << whole;
  for (const char* part :
       {"for i in x:\n", "for i in x:\n  y\n", "f(\n", "f(1,\n", "@cached\n", "1 + \\\n", "if (x) {\n"})
    EXPECT_TRUE(wants_more(part)) << part;
}

}  // namespace
}  // namespace cove::cli
