// The disk limit of sandboxes that live on: enforced, or said not to be.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "security/own_server.h"

namespace cove::test {
namespace {

using testing::HasSubstr;

class DiskLimit : public OwnServer {
 protected:
  nlohmann::json enforced() const {
    Outcome outcome = cove({"inspect", "box"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["enforced"]["disk"];
  }
  // Whether so many MiB can be written.
  bool takes(int megabytes) const {
    return inside("head -c " + std::to_string(megabytes) +
                  "M /dev/zero > /var/tmp/big 2>/dev/null && echo yes || echo no; rm -f /var/tmp/big; sync /var/tmp") ==
           "yes\n";
  }
};

TEST_P(DiskLimit, IsEnforcedOrRefused) {
  Outcome created = cove({"create", "--name", "box", "--disk", "32m"});
  if (!rootless()) {
    ASSERT_EQ(created.exit_code, 0) << created.err;
    EXPECT_EQ(enforced()["enforced_by"], "quota");
    EXPECT_FALSE(takes(64));
    return;
  }
  EXPECT_NE(created.exit_code, 0);
  EXPECT_THAT(created.err, HasSubstr("limit disk to 32 MiB"));
  create();
  EXPECT_EQ(enforced()["enforced_by"], "nothing");
}

TEST_P(DiskLimit, ThatWasChangedHoldsAfterTheNextStart) {
  create();
  ASSERT_EQ(cove({"stop", "box"}).exit_code, 0);
  Outcome changed = cove({"update", "box", "--disk", "32m"});
  if (rootless()) {
    EXPECT_NE(changed.exit_code, 0);
    EXPECT_THAT(changed.err, HasSubstr("nothing can enforce it"));
    expect_start();
    EXPECT_EQ(enforced()["enforced_by"], "nothing");
    return;
  }
  ASSERT_EQ(changed.exit_code, 0) << changed.err;
  expect_start();
  EXPECT_EQ(enforced(), nlohmann::json({{"value", "32 MiB"}, {"enforced_by", "quota"}}));
  EXPECT_FALSE(takes(64));
  ASSERT_EQ(cove({"stop", "box"}).exit_code, 0);
  ASSERT_EQ(cove({"update", "box", "--disk", "128m"}).exit_code, 0);
  expect_start();
  EXPECT_TRUE(takes(64));
}

TEST_P(DiskLimit, BelowWhatTheFilesTakeUpIsRefused) {
  if (rootless()) return;  // there is none
  create({"--disk", "128m"});
  inside("head -c 64M /dev/zero > /var/tmp/kept; sync /var/tmp/kept");
  ASSERT_EQ(cove({"stop", "box"}).exit_code, 0);
  ASSERT_EQ(cove({"update", "box", "--disk", "16m"}).exit_code, 0);
  Outcome started = cove({"start", "box"});
  EXPECT_NE(started.exit_code, 0);
  EXPECT_THAT(started.err, HasSubstr("its files take up"));
  ASSERT_EQ(cove({"update", "box", "--disk", "100m"}).exit_code, 0);
  expect_start();
}

// A pool that becomes possible later does not hold the files of a folder.
TEST_P(DiskLimit, OfFilesInAFolderIsNeverClaimed) {
  if (rootless()) return;
  create();
  ASSERT_EQ(cove({"stop", "box"}).exit_code, 0);
  const std::string id = nlohmann::json::parse(cove({"inspect", "box"}).out)["id"];
  stop_server();
  // As if the pool had been missing when the sandbox was made.
  std::filesystem::remove(state() + "/pool.img");
  make_folder(state() + "/layers/" + id);
  expect_start();
  EXPECT_EQ(enforced()["enforced_by"], "nothing");
}

COVE_FOR_EVERYBODY(DiskLimit);

}  // namespace
}  // namespace cove::test
