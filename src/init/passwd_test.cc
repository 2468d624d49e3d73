#include "init/passwd.h"

#include <gtest/gtest.h>

namespace cove::init {
namespace {

constexpr const char* kPasswd = "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:,,,:/home/user:/bin/sh\nbroken:x\n";
constexpr const char* kGroup = "root:x:0:\nsudo:x:27:user,other\nuser:x:1000:\nusers:x:100:user\n";

TEST(FindUser, ByNameAndByNumber) {
  User user;
  ASSERT_TRUE(find_user("user", kPasswd, kGroup, user));
  EXPECT_EQ(user.uid, 1000u);
  EXPECT_EQ(user.home, "/home/user");
  EXPECT_EQ(user.groups, (std::vector<unsigned>{27, 100}));
  User root;
  ASSERT_TRUE(find_user("0", kPasswd, kGroup, root));
  EXPECT_EQ(root.name, "root");
  EXPECT_EQ(root.shell, "/bin/bash");
}

TEST(FindUser, TakesNumbersWithoutAnEntryAndAGroup) {
  User user;
  ASSERT_TRUE(find_user("1234:sudo", kPasswd, kGroup, user));
  EXPECT_EQ(user.uid, 1234u);
  EXPECT_EQ(user.gid, 27u);
  EXPECT_EQ(user.home, "/");
}

TEST(FindUser, RefusesWhatIsNotThere) {
  for (const char* wanted : {"nobody", "user:nogroup", "-1", "70000", "99999999999", "broken", "", ":", "root:70000"}) {
    User user;
    EXPECT_FALSE(find_user(wanted, kPasswd, kGroup, user)) << wanted;
  }
}

TEST(FindUser, SurvivesHostileFiles) {
  User user;
  EXPECT_FALSE(find_user("x", "x:x:99999999999999:0::/:/\n", "", user));
  EXPECT_FALSE(find_user("x", "x:x:-1:0::/:/\n", "", user));
  EXPECT_FALSE(find_user("x", std::string(100'000, ':'), std::string(100'000, '\n'), user));
}

}  // namespace
}  // namespace cove::init
