// Files of the host.
#include <gmock/gmock.h>

#include "security/attempts.h"

namespace cove::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Expectation kFileExpectations[] = {
    {"make_memory_device", "EACCES|EPERM"},
    {"make_disk_device", "EACCES|EPERM"},
    {"make_null_device", "EACCES|EPERM"},
    {"make_whiteout", "EACCES|EPERM"},
    {"leaked_descriptors", "held"},
    {"callers_streams", "held"},
    {"leaked_folder", "held"},
    {"host_file_in_opt", "EACCES"},
    {"host_file_in_usr_local", "EACCES"},
    {"host_file_in_closed_folder", "EACCES"},
    {"host_file_by_link", "EACCES"},
    {"host_file_by_hard_link", "EXDEV|EACCES|EPERM"},
    {"host_file_chmod", "EPERM|EACCES|EROFS"},
    {"host_file_by_rename", "EACCES|EOVERFLOW|EBUSY"},
    {"host_file_write", "EACCES"},
    {"host_home", "EACCES|absent"},
    {"host_tmp", "absent"},
    {"host_shared_memory", "absent"},
    {"other_homes", "held"},
    {"root_home", "EACCES|absent"},
    {"shadow", "absent|EACCES|held"},
    {"gshadow", "absent"},
    {"machine_id", "absent"},
    {"ssh_host_key", "absent"},
    {"sudoers", "absent"},
    {"ssl_private_keys", "absent"},
    {"docker_socket", "absent"},
    {"systemd_socket", "absent"},
    {"boot", "absent"},
    {"cove_cache", "absent"},
    {"cove_run_folder", "absent"},
    {"overwrite_program", "EACCES", "held|EACCES"},
    {"remove_program", "held|EACCES"},
    {"add_program", "EACCES|held", "held|EACCES"},
    {"trusted_redirect", "EPERM|EOPNOTSUPP"},
    {"user_redirect", "held|EPERM|EOPNOTSUPP"},
    {"fill_shared_memory", "ENOSPC"},
};

const Theme kFile{"file", kFileExpectations};
COVE_ATTEMPTS(File, kFile);

class HostFile : public InEveryMode {};

// What an unprivileged user of the machine cannot read stays closed, also if it appears later.
TEST_P(HostFile, StaysClosedIfMadeWhileTheSandboxRuns) {
  Running sandbox(
      {GetParam(),
       {},
       {"file"},
       {"sh", "-c", "echo ready; read path; HOST_FILE_OPT=$path /tmp/testee-file host_file_in_opt host_file_by_link"}});
  ASSERT_EQ(sandbox.read_line(), "ready");
  sandbox.write_line(Host::get().hide("/usr/local", "late-" + mode_name(GetParam()), "top secret"));
  EXPECT_EQ(sandbox.read_line(), "host_file_in_opt denied EACCES");
  EXPECT_EQ(sandbox.read_line(), "host_file_by_link denied EACCES");
  EXPECT_EQ(sandbox.finish(), 0);
}

// Root inside opens it by way of the modes that it may change, in its own view.
TEST_P(HostFile, StaysClosedToEveryOrdinaryTool) {
  Outcome outcome =
      inside({}, {"sh", "-c",
                  "chmod 666 $HOST_FILE_OPT; chown 0:0 $HOST_FILE_OPT; cat $HOST_FILE_OPT; cp $HOST_FILE_OPT /tmp/x; "
                  "tar c $HOST_FILE_OPT; ln $HOST_FILE_OPT /opt/y; cat /opt/y; mv $HOST_FILE_OPT /opt/z; cat /opt/z; "
                  "sudo cat $HOST_FILE_OPT; dd if=$HOST_FILE_OPT; cat /proc/self/root$HOST_FILE_OPT"});
  EXPECT_THAT(outcome.out, Not(HasSubstr("top secret"))) << outcome.err;
}
COVE_IN_EVERY_MODE(HostFile);

}  // namespace
}  // namespace cove::test
