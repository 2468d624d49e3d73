#pragma once

#include <cstdint>

// What process 1 puts up around the programs it starts. Each call returns 0 or -1 with errno, as system calls do.
namespace cove::init {

// The capabilities that root inside keeps, all of them over the sandbox's own user namespace only.
uint64_t root_capabilities();

// Drops everything outside `kept` from the bounding set. Needs CAP_SETPCAP.
int limit_bounding_set(uint64_t kept, uint64_t present = ~uint64_t{0});
int set_capabilities(uint64_t kept);
int no_new_privileges();

enum class Nesting { Forbidden, Allowed };
int apply_seccomp(Nesting nesting);
// Whether files may be made set-user-id and set-group-id: not where a folder of the host's can be written to.
enum class SetId { Allowed, Forbidden };
// What holds the limit of CPUs: a control group, or the CPU affinity, which a program must not undo.
enum class CpusHeld { ByGroup, ByAffinity };
// What holds the limit of memory: a control group, or a watcher. A program must not have memory that it does not see.
enum class MemoryHeld { ByGroup, ByWatcher };
// Whether the programs run on the host's kernel or on one of their own, gVisor's: there each puts up the filters
// itself.
enum class Kernel { Host, Own };
struct Filters {
  Nesting nesting = Nesting::Forbidden;
  SetId set_id = SetId::Allowed;
  CpusHeld cpus = CpusHeld::ByGroup;
  MemoryHeld memory = MemoryHeld::ByGroup;
  Kernel kernel = Kernel::Host;
};
// No new privileges, and the filters. Process 1 does it once, for itself and for all that it starts; only where it has
// to make namespaces for them (single-id mode), each of them does it.
int put_up_filters(const Filters& filters);

// For a command on the host, which only reads (host/host_run.h).
int apply_host_filter();

// For cove-unpack, which writes the files of a stranger's archive: what it may do to files whoever owns them, and the
// few calls that this takes.
uint64_t unpack_capabilities();
int apply_unpack_filter();

// The second fence, for this process and all it starts: no device nodes, no mounting of any kind, no tracing, and (from
// ABI 6 on) no signals and no abstract sockets beyond the sandbox. 0 also where there is no Landlock.
int apply_landlock();
// The version of its interface; 0 where the kernel has none, or a filter around this process lets nobody use it.
int landlock_abi();

}  // namespace cove::init
