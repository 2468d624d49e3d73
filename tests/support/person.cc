#include "support/person.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace cove::test {
namespace {

constexpr unsigned kOrdinary = 12345;

void own(const std::string& path) {
  if (::chown(path.c_str(), kOrdinary, kOrdinary) < 0) ::abort();
}

// A home for the ordinary user, kept between test programs so that the image is made once.
ChildOptions ordinary_user() {
  std::string home = "/tmp/cove-test-home";
  ::mkdir(home.c_str(), 0700);
  ::mkdir((home + "/run").c_str(), 0700);
  own(home);
  own(home + "/run");
  ChildOptions options;
  options.uid = kOrdinary;
  options.cwd = home;
  options.env = {"HOME=" + home, "XDG_RUNTIME_DIR=" + home + "/run", "XDG_CACHE_HOME=" + home + "/cache",
                 "DBUS_SESSION_BUS_ADDRESS="};
  return options;
}

}  // namespace

std::vector<Person> people() {
  if (!is_root()) return {{"self", {}}};
  return {{"root", {}}, {"ordinary", ordinary_user()}};
}

Outcome ForEverybody::cove(std::vector<std::string> args, const std::string& input) const {
  ChildOptions options = GetParam().options;
  options.input = input;
  return test::cove(std::move(args), options);
}

std::string ForEverybody::folder() {
  std::string path = "/tmp/cove-test-XXXXXX";
  if (!::mkdtemp(path.data())) ::abort();
  if (GetParam().options.uid) own(path);
  folders_.push_back(path);
  return path;
}

void ForEverybody::TearDown() {
  for (const std::string& path : folders_) std::filesystem::remove_all(path);
}

}  // namespace cove::test
