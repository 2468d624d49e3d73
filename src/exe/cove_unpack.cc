// cove-unpack VERSION TASK BYTES ENTRIES LETTERS: unpacks the layer of an image, or reads one that is unpacked. It is
// started in its own namespaces (image/unpacker.cc), without privilege outside them; before it reads the first byte of
// the archive it can see only the layer's folder and do little more than write there.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/error_wire.h"
#include "base/text.h"
#include "init/fences.h"
#include "sys/file.h"
#include "sys/standard_streams.h"
#include "unpack/archive_reader.h"
#include "unpack/protocol.h"
#include "unpack/tree_digest.h"

namespace {

using namespace cove;
using namespace cove::unpack;

struct Task {
  bool unpacks = true;
  LayerOptions options;
  bool parents = false;
};

Result<Task> parse(int argc, char** argv) {
  if (argc != 6 || std::strcmp(argv[1], COVE_VERSION) != 0)
    return fail(Error(Code::Conflict, "cove-unpack has a different version")
                    .hint("install all Cove programs of the same version"));
  Task task;
  task.unpacks = std::string_view(argv[2]) == kTaskUnpack;
  task.options.limits.bytes = static_cast<uint64_t>(COVE_TRY(parse_integer(argv[3], 1, INT64_MAX)));
  task.options.limits.entries = static_cast<uint64_t>(COVE_TRY(parse_integer(argv[4], 1, INT64_MAX)));
  std::string_view letters = argv[5];
  auto has = [&](char letter) { return letters.find(letter) != letters.npos; };
  task.parents = has(kLetterParents);
  task.options.lowest = has(kLetterLowest);
  task.options.owners = has(kLetterOneId) ? Owners::Ours : Owners::Kept;
  task.options.opaque = has(kLetterReported) ? OpaqueMark::Reported : OpaqueMark::UserAttribute;
  return task;
}

// The libraries are loaded; the new root is ready when the byte arrives.
Result<void> wait_for_root() {
  char byte = 'r';
  if (::write(kReadyFd, &byte, 1) != 1 || ::read(kGoFd, &byte, 1) != 1)
    return fail(Code::Unavailable, "the parent of cove-unpack has ended");
  ::close(kReadyFd);
  ::close(kGoFd);
  if (::chdir("/") < 0) return fail_errno("chdir /");
  return {};
}

Result<void> apply_fences() {
  ::prctl(PR_SET_DUMPABLE, 0);
  ::umask(0);
  if (init::limit_bounding_set(0) < 0) return fail_errno("drop the bounding set");
  if (init::set_capabilities(init::unpack_capabilities()) < 0) return fail_errno("drop capabilities");
  if (init::no_new_privileges() < 0) return fail_errno("no_new_privs");
  if (init::apply_unpack_filter() < 0) return fail_errno("apply the seccomp filter");
  return {};
}

Result<Report> work(const Task& task) {
  UniqueFd layer = COVE_TRY(sys::open(kLayerFolder, O_RDONLY | O_DIRECTORY));
  UniqueFd parents;
  if (task.parents) parents = COVE_TRY(sys::open(kParentsFolder, O_RDONLY | O_DIRECTORY));
  COVE_TRY(apply_fences());
  Report report;
  if (task.unpacks) {
    LayerOptions options = task.options;
    options.parents = parents.get();
    LayerWriter writer(layer.get(), options);
    LayerReport unpacked = COVE_TRY(unpack_layer(kArchiveFd, writer, report.diff_id));
    report.entries = unpacked.entries;
    report.bytes = unpacked.bytes;
    report.devices_left_out = unpacked.devices_left_out;
    report.owners_out_of_range = unpacked.owners_out_of_range;
    report.attributes_left_out = unpacked.attributes_left_out;
    report.needs_parents = unpacked.needs_parents;
    report.opaque_folders = std::move(unpacked.opaque_folders);
    if (report.needs_parents && !options.lowest) return report;
  }
  report.tree = COVE_TRY(digest_tree(layer.get()));
  return report;
}

Result<Report> run(int argc, char** argv) {
  Task task = COVE_TRY(parse(argc, argv));
  COVE_TRY(wait_for_root());
  return work(task);
}

}  // namespace

int main(int argc, char** argv) {
  cove::sys::keep_standard_streams();
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) return std::puts(COVE_VERSION), 0;
  Result<Report> report = run(argc, argv);
  std::string text = report ? concat("+", report->encode()) : concat("-", encode_error(report.error()));
  bool written = cove::sys::write_all(kReportFd, text).has_value();
  return report && written ? 0 : 1;
}
