#include <gmock/gmock.h>

#include "security/attempts.h"

namespace cove::test {
namespace {

// With --nesting a program may make namespaces of its own, and is as far from the host as before.
constexpr Expectation kNestingExpectations[] = {
    {"nested_mount", "held"},
    {"nested_overlay_set_id", "absent|EACCES|EPERM"},  // no workspace
    {"nested_proc", "done"},                           // what is in it is its own, and closed where the machine's is
    {"nested_proc_sysrq", "EACCES|absent"},
    {"nested_proc_core_pattern", "EACCES"},
    {"nested_proc_kcore", "EACCES|EPERM|absent"},
    {"nested_proc_kmsg", "EACCES|EPERM"},
    {"kept_proc", "EACCES", "EACCES|done"},
    {"nested_proc_of_sandbox", "EPERM"},
    {"nested_sysfs", "EPERM"},
    {"nested_disk", "EPERM"},
    {"nested_unmask", "EINVAL"},
    {"nested_unmount_proc", "EINVAL"},
    {"nested_remount_proc_sys", "EPERM"},
    {"nested_remount_suid", "EPERM"},
    {"nested_bind_parent_of_mask", "EINVAL"},
    {"nested_core_pattern", "EACCES|EROFS"},
    {"nested_device", "EPERM"},
    {"nested_enter_process_1", "EACCES"},
    {"nested_process_1_root", "EACCES"},
    {"nested_host_file", "EACCES"},
    {"nested_cgroup", "EACCES"},
    {"nested_clock", "EPERM"},
    {"nested_hostname", "EPERM"},
    {"nested_raw_socket", "EPERM"},
    {"nested_packet_socket", "EPERM"},
    {"nested_keyctl", "EPERM"},
    {"nested_bpf", "EPERM"},
    {"nested_open_by_handle", "EPERM"},
    {"nested_chroot", "held"},
};

const Theme kNesting{"nesting", kNestingExpectations, {"--nesting"}};
COVE_ATTEMPTS(Nesting, kNesting);

// Where the user's folder can be written to, what is mounted inside would leave set-id files in it.
class NestingWithWorkspace : public InEveryMode {};

TEST_P(NestingWithWorkspace, IsRefusedIfWritable) {
  const std::string workspace = Host::get().workspace(GetParam().outside);
  Outcome outcome = inside({"nesting"}, {"/tmp/testee-nesting", "nested_overlay_set_id"},
                           {"--nesting", "--workspace", workspace + ":rw"});
  EXPECT_THAT(outcome.err, testing::HasSubstr("nesting cannot be combined with a workspace that is 'rw'"));
  EXPECT_EQ(outcome.out, "");
}

TEST_P(NestingWithWorkspace, WorksUnderReview) {
  const std::string workspace = Host::get().workspace(GetParam().outside);
  Outcome outcome = inside({}, {"true"}, {"--nesting", "--workspace", workspace + ":review"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}
COVE_IN_EVERY_MODE(NestingWithWorkspace);

}  // namespace
}  // namespace cove::test
