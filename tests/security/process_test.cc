// Process 1, processes of the host, and those of the sandbox's own root.
#include "security/attempts.h"

namespace cove::test {
namespace {

constexpr Expectation kProcessExpectations[] = {
    {"signal_process_1", "EPERM", "held", "held"},
    {"queue_signals_to_process_1", "EPERM", "held", "held"},
    {"signal_process_1_by_pidfd", "EPERM", "held", "held"},
    {"seize_process_1", "EPERM"},
    {"attach_process_1", "EPERM"},
    {"read_memory_of_process_1", "EPERM"},
    {"write_memory_of_process_1", "EPERM"},
    {"compare_with_process_1", "EPERM"},
    {"robust_list_of_process_1", "EPERM"},
    {"pin_process_1", "EPERM"},
    {"widen_cpus", "EPERM|held"},
    {"slow_process_1", "EPERM"},
    {"limit_process_1", "EPERM"},
    {"signal_host_process", "ESRCH"},
    {"signal_host_group", "ESRCH"},
    {"seize_host_process", "ESRCH"},
    {"read_memory_of_host_process", "ESRCH"},
    {"open_host_process", "ESRCH"},
    {"limit_host_process", "ESRCH"},
    {"seize_roots_process", "EPERM", "held", "EPERM|done"},
    {"attach_roots_process", "EPERM", "held", "EPERM|done"},
    {"read_memory_of_roots_process", "EPERM", "held", "EPERM|EFAULT"},
    {"open_memory_of_roots_process", "EACCES", "held", "EACCES|done"},
    {"open_root_of_roots_process", "EACCES", "held", "EACCES|done"},
    {"exhaust_processes", "EAGAIN", "", "", "processes"},
};

const Theme kProcess{"process", kProcessExpectations};
COVE_ATTEMPTS(Process, kProcess);

}  // namespace
}  // namespace cove::test
