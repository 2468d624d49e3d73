// Archives of layers, unpacked into a folder in memory: nothing is ever written beside it, and what was written can be
// read.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "messages.h"
#include "sys/file.h"
#include "unpack/archive_reader.h"
#include "unpack/tree_digest.h"

using namespace cove;
using namespace cove::fuzz;

namespace {

// Beside the layer's folder lies another one, which stays empty.
const std::string& work_folder() {
  static const std::string folder = [] {
    char path[] = "/dev/shm/cove-fuzz-XXXXXX";
    if (!::mkdtemp(path)) std::abort();
    return std::string(path);
  }();
  return folder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string inner = work_folder() + "/layer";
  if (!sys::mkdir(inner, 0755)) std::abort();
  UniqueFd archive(::memfd_create("layer", MFD_CLOEXEC));
  require(sys::write_all(archive.get(), {reinterpret_cast<const char*>(data), size}).has_value());
  ::lseek(archive.get(), 0, SEEK_SET);
  {
    UniqueFd root = sys::open(inner, O_RDONLY | O_DIRECTORY).value();
    unpack::LayerOptions options;
    options.limits = {4 << 20, 500};
    options.owners = unpack::Owners::Ours;
    options.opaque = unpack::OpaqueMark::Reported;
    options.lowest = true;
    unpack::LayerWriter writer(root.get(), options);
    std::string diff_id;
    Result<unpack::LayerReport> report = unpack::unpack_layer(archive.get(), writer, diff_id);
    if (report) require(unpack::digest_tree(root.get()).has_value() || report->entries > 0);
  }
  require(sys::list_folder(work_folder()).value() == std::vector<std::string>{"layer"});
  require(sys::remove_tree(inner).has_value());
  return 0;
}
