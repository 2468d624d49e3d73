#include "image/catalogue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"

namespace cove {
namespace {

// As somebody who has taken over the server could leave it for whoever reads it with more rights.
class HostileCatalogue : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    std::filesystem::create_directories(folder_ + "/server/images");
    top_ = UniqueFd(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Result<Catalogue> read() const { return read_catalogue(top_.get(), "server/images"); }
  std::string file() const { return folder_ + "/server/images/catalogue.json"; }

  std::string folder_ = "/tmp/cove-catalogue-XXXXXX";
  UniqueFd top_;
};

TEST_F(HostileCatalogue, CannotKeepItsReaderWaiting) {
  ASSERT_EQ(::mkfifo(file().c_str(), 0666), 0);
  EXPECT_FALSE(read());
}

TEST_F(HostileCatalogue, IsNotReadThroughLinks) {
  std::ofstream(folder_ + "/other") << R"({"version": 1, "images": {}, "names": {}})";
  std::filesystem::create_symlink("../../other", file());
  EXPECT_FALSE(read());
  std::filesystem::remove(file());
  std::filesystem::rename(folder_ + "/server/images", folder_ + "/elsewhere");
  std::filesystem::create_directory_symlink("../elsewhere", folder_ + "/server/images");
  EXPECT_FALSE(read());
}

TEST_F(HostileCatalogue, NamesNoImageOutsideOfTheShelf) {
  Catalogue catalogue;
  StoredImage& image = catalogue.images["sha256:../../../etc"];
  image.digest = "sha256:../../../etc";
  ASSERT_TRUE(write_catalogue(folder_ + "/server/images", catalogue));
  Result<Catalogue> found = read();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_TRUE(found->images.empty());
}

}  // namespace
}  // namespace cove
