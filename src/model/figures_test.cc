#include "model/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Environment found(Environment env) {
  find_figures_module(env);
  return env;
}

TEST(Figures, PythonFindsTheBackendWhereItIsWanted) {
  auto wanted = Pair("MPLBACKEND", "module://cove_figures");
  EXPECT_THAT(found({{"MPLBACKEND", "module://cove_figures"}}),
              ElementsAre(wanted, Pair("PYTHONPATH", "/.cove/python")));
  EXPECT_THAT(
      found({{"PYTHONPATH", "/of/the/image"}, {"PYTHONPATH", "/own:"}, {"MPLBACKEND", "module://cove_figures"}}),
      ElementsAre(wanted, Pair("PYTHONPATH", "/.cove/python:/own:")));
}

TEST(Figures, NothingIsChangedWhereTheyAreNotWanted) {
  const Environment plain = {{"PYTHONPATH", "/own"}};
  EXPECT_EQ(found(plain), plain);
  const Environment another = {{"MPLBACKEND", "module://cove_figures"}, {"MPLBACKEND", "svg"}, {"PYTHONPATH", "/own"}};
  EXPECT_EQ(found(another), another);
}

TEST(Figures, ABackendOfTheCallersOwnIsKept) {
  Environment env = {{"MPLBACKEND", "svg"}};
  want_figures(env);
  EXPECT_THAT(env, ElementsAre(Pair("MPLBACKEND", "svg")));
}

}  // namespace
}  // namespace cove
