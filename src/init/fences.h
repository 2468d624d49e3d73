#pragma once

#include <cstdint>

// The restrictions that process 1 applies to the programs it starts. Calls return 0, or -1 with errno, like system
// calls.
namespace cove::init {

// The capabilities that root inside keeps, all of them over the sandbox's own user namespace only.
uint64_t root_capabilities();

// Drops everything outside `kept` from the bounding set. Needs CAP_SETPCAP.
int limit_bounding_set(uint64_t kept, uint64_t present = ~uint64_t{0});
int set_capabilities(uint64_t kept);
int no_new_privileges();

enum class Nesting { Forbidden, Allowed };
int apply_seccomp(Nesting nesting);
// Whether files may become set-user-id and set-group-id: not if a folder of the host is writable.
enum class SetId { Allowed, Forbidden };
// What enforces the CPU limit: a control group, or the CPU affinity, which a program must not change.
enum class CpusHeld { ByGroup, ByAffinity };
// What enforces the memory limit: a control group or a watcher. A program must not have memory that the watcher misses.
enum class MemoryHeld { ByGroup, ByWatcher };
// Whether the programs run on the host's kernel or on gVisor's, where each program applies the filters itself.
enum class Kernel { Host, Own };
struct Filters {
  Nesting nesting = Nesting::Forbidden;
  SetId set_id = SetId::Allowed;
  CpusHeld cpus = CpusHeld::ByGroup;
  MemoryHeld memory = MemoryHeld::ByGroup;
  Kernel kernel = Kernel::Host;
};
// Sets no_new_privs and the filters. Process 1 does this once, for itself and all its programs; only if it has to
// create namespaces for them (single-id mode), each of them does it.
int apply_filters(const Filters& filters);

// For a command on the host, which only reads (host/host_run.h).
int apply_host_filter();

// For cove-unpack, which writes the files of an untrusted archive: capabilities over files of any owner, and the few
// system calls it needs.
uint64_t unpack_capabilities();
int apply_unpack_filter();

// For cove-gateway, which moves the bytes of untrusted programs: sockets of the Internet, pipes, memory.
int apply_gateway_filter();

// A second layer of defence, for this process and all it starts: no device nodes, no mounting, no tracing, and (since
// ABI 6) no signals and no abstract sockets beyond the sandbox. Also returns 0 if Landlock is not available.
int apply_landlock();
// Its ABI version; 0 if the kernel does not have it or a seccomp filter blocks it.
int landlock_abi();

}  // namespace cove::init
