#pragma once

// Entries of /proc that show or change the whole machine, if the kernel has them.
namespace cove::native {

inline constexpr const char* kReadOnlyProc[] = {"bus", "fs", "irq", "sys"};
inline constexpr const char* kMaskedProcFiles[] = {"kcore", "keys",        "kmsg",          "latency_stats",
                                                   "locks", "sched_debug", "sysrq-trigger", "timer_list"};
inline constexpr const char* kMaskedProcFolders[] = {"acpi", "asound", "scsi"};

}  // namespace cove::native
