// What procfs, sysfs and /dev show.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "security/attempts.h"

namespace cove::test {
namespace {

constexpr Expectation kProcExpectations[] = {
    {"write_core_pattern", "EACCES|EROFS|absent"},
    {"write_modprobe", "EACCES|EROFS|absent"},
    {"write_hostname", "EACCES|EROFS|absent"},
    {"write_panic", "EACCES|EROFS|absent"},
    {"write_sysrq", "EACCES|EROFS|absent"},
    {"write_ns_last_pid", "EACCES|EROFS|absent"},
    {"write_randomize_va_space", "EACCES|EROFS|absent"},
    {"write_shmmax", "EACCES|EROFS|absent"},
    {"write_overcommit", "EACCES|EROFS|absent"},
    {"write_drop_caches", "EACCES|EROFS|absent"},
    {"write_swappiness", "EACCES|EROFS|absent"},
    {"write_panic_on_oom", "EACCES|EROFS|absent"},
    {"write_suid_dumpable", "EACCES|EROFS|absent"},
    {"write_file_max", "EACCES|EROFS|absent"},
    {"write_ip_forward", "EACCES|EROFS|absent"},
    {"write_ping_group_range", "EACCES|EROFS|absent"},
    {"write_max_user_namespaces", "EACCES|EROFS|absent"},
    {"write_binfmt_register", "absent|EACCES|EROFS"},
    {"write_sysrq_trigger", "EACCES|EROFS|absent|held"},
    {"write_irq_affinity", "EACCES|EROFS|absent"},
    {"write_mtrr", "EACCES|EROFS|absent"},
    {"write_slabinfo", "EACCES|EROFS|absent|held"},
    {"write_latency_stats", "EACCES|EROFS|absent|held"},
    {"write_timer_list", "EACCES|EROFS|absent|held"},
    {"read_kcore", "held|absent|EACCES"},
    {"read_kmsg", "held|absent"},
    {"read_kallsyms", "held|absent|EACCES"},
    {"read_keys", "held|absent"},
    {"read_kpageflags", "held|absent|EACCES"},
    {"read_vmallocinfo", "held|absent|EACCES"},
    {"list_acpi", "held|absent"},
    {"list_scsi", "held|absent"},
    {"foreign_processes", "held"},
    {"lower_oom_score", "EACCES"},
    {"process_1_root", "EACCES"},
    {"process_1_root_link", "EACCES"},
    {"process_1_cwd", "EACCES"},
    {"process_1_environ", "EACCES"},
    {"process_1_mem", "EACCES"},
    {"process_1_maps", "EACCES"},
    {"process_1_syscall", "EACCES", "EPERM|EACCES"},
    {"process_1_stack", "EACCES|EPERM"},
    {"process_1_channel", "EACCES"},
    {"process_1_descriptor", "EACCES"},
    {"process_1_exe", "EACCES"},
    {"process_1_namespaces", "EACCES"},
    {"process_1_oom_score", "EACCES"},
    {"process_1_map_files", "EACCES", "held|EACCES"},
    {"overwrite_process_1_program", "EACCES"},
    {"overwrite_own_program", "ETXTBSY"},
    {"climb_root", "held"},
    {"climb_proc_self_root", "held"},
    {"climb_proc_self_cwd", "held"},
    {"write_uevent_helper", "absent"},
    {"write_power_state", "absent"},
    {"write_release_agent", "absent"},
    {"make_cgroup", "absent|EROFS"},
    {"replace_dev_null", "EROFS|EACCES"},
    {"replace_dev_console", "EROFS|EACCES"},
    {"replace_dev_ptmx", "EROFS|EACCES"},
    {"replace_masked_path", "EACCES|EPERM|EBUSY"},
    {"move_dev_away", "EACCES|EBUSY"},
    {"move_proc_away", "EACCES|EBUSY"},
    {"chmod_dev_null", "EROFS|EPERM"},
    {"open_dev_mem", "absent"},
    {"open_dev_kmsg", "absent"},
    {"open_dev_console", "absent"},
    {"open_dev_disk", "absent"},
    {"open_dev_kvm", "absent"},
    {"open_dev_fuse", "absent"},
    {"open_dev_tun", "absent"},
    {"open_dev_loop_control", "absent"},
    {"open_dev_vsock", "absent"},
};

const Theme kProc{"proc", kProcExpectations};
COVE_ATTEMPTS(Proc, kProc);

// A program that is about to be executed is still whoever starts it, and so is its /proc/self/exe: a file of the
// host's, or one on a mount that cannot be written to. Either it is not executed at all, or it is process 1's program,
// which ends at once.
class MakersProgram : public InEveryMode {
 protected:
  void SetUp() override {
    InEveryMode::SetUp();
    std::ofstream(script_) << "#!/proc/self/exe\n";
    ASSERT_EQ(::chmod(script_.c_str(), 0755), 0);
  }
  void TearDown() override { std::remove(script_.c_str()); }

  void expect_refusal(const Outcome& outcome) const {
    EXPECT_EQ(outcome.out, "");
    if (GetParam().outside == Outside::Root)
      EXPECT_EQ(outcome.exit_code, 126) << outcome.err;
    else
      EXPECT_THAT(outcome.exit_code, testing::AnyOf(2, 126)) << outcome.err;
  }

  const std::string script_ = "/tmp/cove-makers-program-" + std::to_string(::getpid());
};
COVE_IN_EVERY_MODE(MakersProgram);

TEST_P(MakersProgram, IsNotExecutedByItsLink) { expect_refusal(inside({}, {"/proc/self/exe", "--version"})); }

TEST_P(MakersProgram, ToldNoArgumentsOfItsOwn) {
  Outcome outcome = inside({}, {"cat", "/proc/1/cmdline"}, {"-e", "SECRET=of-the-caller"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  // An OCI runtime executes it by descriptor.
  EXPECT_THAT(outcome.out, testing::AnyOf(testing::StartsWith("cove-init"), testing::StartsWith("/proc/self/fd/")));
  EXPECT_EQ(outcome.out.find("of-the-caller"), std::string::npos);
  EXPECT_EQ(outcome.out.find("run"), std::string::npos);
}

TEST_P(MakersProgram, IsNoInterpreter) {
  expect_refusal(inside({}, {"/tmp/script"}, {"--copy-in", script_ + ":/tmp/script"}));
}

}  // namespace
}  // namespace cove::test
