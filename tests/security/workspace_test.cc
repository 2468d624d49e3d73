// The folder of the user that a sandbox is shown.
#include "security/attempts.h"

namespace cove::test {
namespace {

constexpr Expectation kReadOnlyExpectations[] = {
    {"write", "EROFS|EACCES"},
    {"truncate", "EROFS|EACCES"},
    {"create", "EROFS|EACCES"},
    {"make_folder", "EROFS|EACCES"},
    {"make_link", "EROFS|EACCES"},
    {"remove", "EROFS|EACCES"},
    {"rename", "EROFS|EACCES"},
    {"replace", "EROFS|EACCES"},
    {"change_mode", "EROFS|EPERM"},
    {"change_owner", "EROFS|EPERM"},
    {"change_times", "EROFS|EACCES"},
    {"change_attributes", "EROFS|EACCES"},
    {"set_capability", "EROFS|EPERM"},
    {"set_capability_by_descriptor", "EROFS|EPERM"},
    {"set_access_list", "EROFS|EPERM|EOPNOTSUPP"},
    {"set_default_list", "EROFS|EPERM|EOPNOTSUPP"},
    {"remount", "EPERM"},
    {"write_by_proc", "EROFS|EACCES"},
    {"hard_link_out", "EXDEV|EACCES"},
    {"make_device", "EROFS|EACCES|EPERM"},
    {"open_device", "EACCES"},
    {"others_file", "EACCES"},
    {"link_out", "absent"},
    {"link_up", "absent"},
    {"link_to_root", "absent|EACCES"},
    {"climb", "held"},
    {"climb_by_descriptor", "held"},
    {"run_setuid", "held"},
};
const Theme kReadOnly{"workspace", kReadOnlyExpectations, {"--workspace", "{workspace}:ro"}};
COVE_ATTEMPTS(ReadOnlyWorkspace, kReadOnly);

// Where it may be written to, the ways out of it are as closed.
constexpr Expectation kWritableExpectations[] = {
    {"change_attributes", "EOPNOTSUPP"},
    {"set_capability", "EOPNOTSUPP"},
    {"set_capability_by_descriptor", "EOPNOTSUPP"},
    {"set_access_list", "EOPNOTSUPP"},
    {"set_default_list", "EOPNOTSUPP"},
    {"remount", "EPERM"},
    {"hard_link_out", "EXDEV|EACCES"},
    {"make_device", "EACCES|EPERM"},
    {"open_device", "EACCES"},
    {"others_file", "EACCES"},
    {"link_out", "absent"},
    {"link_up", "absent"},
    {"link_to_root", "absent|EACCES"},
    {"climb", "held"},
    {"climb_by_descriptor", "held"},
    {"run_setuid", "held"},
};
const Theme kWritable{
    "workspace",
    kWritableExpectations,
    {"--workspace", "{workspace}:rw"},
    {"/tmp/testee-workspace", "change_attributes", "set_capability", "set_capability_by_descriptor", "set_access_list",
     "set_default_list", "remount", "hard_link_out", "make_device", "open_device", "others_file", "link_out", "link_up",
     "link_to_root", "climb", "climb_by_descriptor", "run_setuid"}};
COVE_ATTEMPTS(WritableWorkspace, kWritable);

}  // namespace
}  // namespace cove::test
