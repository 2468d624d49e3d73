#pragma once

// What of /proc shows or changes the machine as a whole, by its name there; where the kernel has it.
namespace cove::native {

inline constexpr const char* kReadOnlyProc[] = {"bus", "fs", "irq", "sys"};
inline constexpr const char* kMaskedProcFiles[] = {"kcore", "keys",        "kmsg",          "latency_stats",
                                                   "locks", "sched_debug", "sysrq-trigger", "timer_list"};
inline constexpr const char* kMaskedProcFolders[] = {"acpi", "asound", "scsi"};

}  // namespace cove::native
