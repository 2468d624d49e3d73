// Writes the compiled seccomp filters as C++ arrays, so that starting a sandbox does not need libseccomp.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "init/seccomp/condense.h"
#include "init/seccomp/policy.h"

namespace cove::seccomp {
namespace {

enum class Nesting { Forbidden, Allowed };

constexpr uint32_t kEperm = SCMP_ACT_ERRNO(EPERM);
constexpr uint32_t kEnosys = SCMP_ACT_ERRNO(ENOSYS);
constexpr uint64_t kLow32 = 0xffffffff;
// CLONE_NEWTIME shares its bit with the exit signal of clone(2): only unshare and clone3 know it.
constexpr uint64_t kCloneNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr uint64_t kUnshareNamespaces = kCloneNamespaces | 0x80;
constexpr uint32_t kTioclinux = 0x541c;
constexpr uint32_t kTiocsti = 0x5412;
constexpr int kNetlinkRoute = 0;
constexpr int kL2tp = 115;
constexpr int kTmpfileBit = O_TMPFILE & ~O_DIRECTORY;

void check(int status, const std::string& what) {
  if (status >= 0) return;
  std::fprintf(stderr, "seccomp filter: %s: error %d\n", what.c_str(), -status);
  std::exit(1);
}

class Filter {
 public:
  Filter(uint32_t arch, uint32_t otherwise) : arch_(arch), context_(seccomp_init(otherwise)) {
    if (arch != seccomp_arch_native()) {
      check(seccomp_arch_add(context_, arch), "add architecture");
      check(seccomp_arch_remove(context_, seccomp_arch_native()), "remove architecture");
    }
    check(seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, kEnosys), "foreign architectures");
    check(seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, 2), "optimize");
  }
  ~Filter() { seccomp_release(context_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  // Calls that this architecture (or this libseccomp) does not know get the default action.
  template <typename... Conditions>
  void rule(uint32_t action, const char* name, Conditions... conditions) {
    int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) return;
    check(seccomp_rule_add(context_, action, number, sizeof...(conditions), conditions...), name);
  }

  void print_with_terminal_guard(const char* name) const {
    print(name, forbid_by_argument("ioctl", 1, kTiocsti, kTioclinux));
  }
  void print(const char* name, Program program = {}) const {
    const Program rules = exported();
    program.insert(program.end(), rules.begin(), rules.end());
    const Program condensed = condense(program, token());
    compare(program, condensed);
    std::printf("inline constexpr sock_filter %s[] = {\n", name);
    for (const sock_filter& each : condensed.size() < program.size() ? condensed : program)
      std::printf("{0x%x,%u,%u,0x%x},\n", each.code, each.jt, each.jf, each.k);
    std::printf("};\n");
  }

 private:
  // The kernel's name for the architecture.
  uint32_t token() const { return arch_ == SCMP_ARCH_X86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64; }

  Program exported() const {
    std::FILE* file = std::tmpfile();
    check(seccomp_export_bpf(context_, fileno(file)), "export");
    std::rewind(file);
    Program program;
    sock_filter instruction;
    while (std::fread(&instruction, sizeof instruction, 1, file) == 1) program.push_back(instruction);
    std::fclose(file);
    return program;
  }

  // Checks that both have the same result for every number, and for arguments at and around all compared values.
  void compare(const Program& one, const Program& other) const {
    std::vector<uint32_t> values = {0, 1, 0xffffffff};
    for (const sock_filter& each : one) values.insert(values.end(), {each.k, each.k + 1, each.k - 1, ~each.k});
    constexpr uint32_t kNumbers = 1024, kTries = 100, kX32 = 0x40000000;
    std::mt19937 random(1);
    auto any = [&] { return values[random() % values.size()]; };
    for (uint32_t i = 0; i < 2 * kNumbers * kTries; ++i) {
      const uint32_t number = i / kTries < kNumbers ? i / kTries : kX32 + i / kTries - kNumbers;
      std::vector<uint32_t> words(sizeof(seccomp_data) / sizeof(uint32_t));
      for (uint32_t& word : words) word = random() % 4 == 0 ? any() : random() % 2 == 0 ? random() % 64 : 0;
      words[0] = i % kTries == 0 ? any() : number;
      words[1] = i % 97 == 0 ? any() : token();
      if (evaluate(one, words) == evaluate(other, words)) continue;
      std::fprintf(stderr, "seccomp filter: the condensed filter differs for call %u\n", words[0]);
      std::exit(1);
    }
  }

  // Stands before what libseccomp generates, which cannot say "this call, but not with these two values": EPERM for
  // them. The kernel looks at the low 32 bits of the argument only, and so does this.
  Program forbid_by_argument(const char* name, uint32_t argument, uint32_t one, uint32_t other) const {
    auto number = static_cast<uint32_t>(seccomp_syscall_resolve_name_arch(arch_, name));
    auto offset = static_cast<uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(uint64_t));
    return {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch_, 0, 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, kEperm),
    };
  }

  uint32_t arch_;
  scmp_filter_ctx context_;
};

void add_namespaces(Filter& filter, Nesting nesting) {
  if (nesting == Nesting::Allowed) {
    for (const char* name : kNesting) filter.rule(SCMP_ACT_ALLOW, name);
    filter.rule(SCMP_ACT_ALLOW, "clone");
    return;
  }
  for (const char* name : kNesting)
    if (std::string(name) != "unshare" && std::string(name) != "setns") filter.rule(kEperm, name);
  filter.rule(SCMP_ACT_ALLOW, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, kCloneNamespaces, 0));
  // Process 1 makes network namespaces for execs without one. Programs lack the capability, and get EPERM, too.
  const uint64_t unshared = kUnshareNamespaces & ~static_cast<uint64_t>(CLONE_NEWNET);
  filter.rule(SCMP_ACT_ALLOW, "unshare", SCMP_A0(SCMP_CMP_MASKED_EQ, unshared, 0));
  filter.rule(SCMP_ACT_ALLOW, "setns", SCMP_A1(SCMP_CMP_EQ, CLONE_NEWNET));
  filter.rule(kEperm, "setns", SCMP_A1(SCMP_CMP_NE, CLONE_NEWNET));
  // What is left of the two has at least one namespace bit: one rule for each.
  for (int bit = 0; bit < 32; ++bit) {
    uint64_t flag = uint64_t{1} << bit;
    if (kCloneNamespaces & flag) filter.rule(kEperm, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
    if (unshared & flag) filter.rule(kEperm, "unshare", SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
  }
}

void add_sockets(Filter& filter) {
  for (const char* call : {"socket", "socketpair"}) {
    for (int family : {AF_UNIX, AF_INET, AF_INET6})
      filter.rule(SCMP_ACT_ALLOW, call, SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, static_cast<uint64_t>(family)));
    // Everything above AF_NETLINK, and the old families below it.
    filter.rule(kEperm, call, SCMP_A0(SCMP_CMP_GT, AF_NETLINK));
    for (int family = 0; family < AF_NETLINK; ++family)
      if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
        filter.rule(kEperm, call, SCMP_A0(SCMP_CMP_EQ, static_cast<uint64_t>(family)));
  }
  // Interface lists (getifaddrs) come over route netlink; the other netlink families are attack surface.
  filter.rule(SCMP_ACT_ALLOW, "socket", SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, AF_NETLINK),
              SCMP_A2(SCMP_CMP_MASKED_EQ, kLow32, kNetlinkRoute));
  filter.rule(kEperm, "socket", SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, AF_NETLINK), SCMP_A2(SCMP_CMP_GT, kNetlinkRoute));
}

// Limits of other processes can be read; only a process's own can be set. Process 1 may have the caller's user id.
void add_rlimits(Filter& filter) {
  filter.rule(SCMP_ACT_ALLOW, "prlimit64", SCMP_A0(SCMP_CMP_EQ, 0));
  filter.rule(SCMP_ACT_ALLOW, "prlimit64", SCMP_A0(SCMP_CMP_NE, 0), SCMP_A2(SCMP_CMP_EQ, 0));
  filter.rule(kEperm, "prlimit64", SCMP_A0(SCMP_CMP_NE, 0), SCMP_A2(SCMP_CMP_NE, 0));
}

void add_personalities(Filter& filter) {
  // Linux, 32-bit uname, gdb's ADDR_NO_RANDOMIZE, and the query.
  for (uint64_t persona : {0x0ul, 0x8ul, 0x20000ul, 0x20008ul, 0x40000ul, 0x40008ul, 0xfffffffful})
    filter.rule(SCMP_ACT_ALLOW, "personality", SCMP_A0(SCMP_CMP_EQ, persona));
}

void print_filter(uint32_t arch, Nesting nesting, const char* name) {
  Filter filter(arch, kEnosys);
  for (const char* call : kAllowed) filter.rule(SCMP_ACT_ALLOW, call);
  for (const char* call : kForbidden) filter.rule(kEperm, call);
  add_namespaces(filter, nesting);
  add_sockets(filter);
  filter.rule(SCMP_ACT_ALLOW, "ioctl");
  add_rlimits(filter);
  add_personalities(filter);
  filter.print_with_terminal_guard(name);
}

// If a folder of the host is writable, no file there may become set-user-id or set-group-id: outside it would run with
// its owner's rights. The bits are in a mode argument; openat2 has its mode in memory, which filters cannot read.
//
// For the same reason no extended attribute can be set: file capabilities (security.capability) and access lists
// (system.posix_acl_*) take effect outside, too, and the name is in memory, which filters cannot read. Programs that
// copy files treat EOPNOTSUPP as a file system without attributes.
void print_set_id_filter(uint32_t arch, const char* name) {
  Filter filter(arch, SCMP_ACT_ALLOW);
  auto forbid = [&](const char* call, unsigned argument) {
    for (uint64_t bit : {uint64_t{S_ISUID}, uint64_t{S_ISGID}})
      filter.rule(kEperm, call, SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, bit, bit));
  };
  for (const char* call : {"chmod", "fchmod", "creat", "mknod"}) forbid(call, 1);
  for (const char* call : {"fchmodat", "fchmodat2", "mknodat"}) forbid(call, 2);
  for (auto [call, flags] : {std::pair{"open", 1u}, std::pair{"openat", 2u}}) {
    for (uint64_t bit : {uint64_t{S_ISUID}, uint64_t{S_ISGID}})
      for (uint64_t making : {uint64_t{O_CREAT}, uint64_t{kTmpfileBit}})
        filter.rule(kEperm, call, SCMP_CMP64(flags, SCMP_CMP_MASKED_EQ, making, making),
                    SCMP_CMP64(flags + 1, SCMP_CMP_MASKED_EQ, bit, bit));
  }
  filter.rule(kEnosys, "openat2");
  for (const char* call : {"setxattr", "lsetxattr", "fsetxattr", "setxattrat"})
    filter.rule(SCMP_ACT_ERRNO(EOPNOTSUPP), call);
  filter.print(name);
}

// If the CPU affinity enforces the CPU limit.
void print_pinned_filter(uint32_t arch, const char* name) {
  Filter filter(arch, SCMP_ACT_ALLOW);
  filter.rule(kEperm, "sched_setaffinity");
  filter.print(name);
}

// Where memory is only watched. What /proc does not show to the watcher is forbidden: files in memory (one may be on
// its way through a socket; programs make one in /dev/shm instead, which has a size), pages that are only in a pipe,
// and buffers of sockets that no table lists. Of shared memory without a file it shows only that there is some: see
// memory_watch.h.
void print_watched_filter(uint32_t arch, const char* name) {
  Filter filter(arch, SCMP_ACT_ALLOW);
  for (const char* call : {"memfd_create", "memfd_secret", "vmsplice"}) filter.rule(kEnosys, call);
  filter.rule(SCMP_ACT_ERRNO(ENOMEM), "mmap", SCMP_A1(SCMP_CMP_GT, kMostSharedMapping),
              SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS));
  for (int protocol : {int{IPPROTO_UDPLITE}, int{IPPROTO_SCTP}, int{IPPROTO_DCCP}, kL2tp})
    filter.rule(SCMP_ACT_ERRNO(EPROTONOSUPPORT), "socket",
                SCMP_A2(SCMP_CMP_MASKED_EQ, kLow32, static_cast<uint64_t>(protocol)));
  filter.print(name);
}

// For read-only commands on the host: threads, but no processes and no sockets.
void print_host_filter(uint32_t arch, const char* name) {
  Filter filter(arch, kEnosys);
  for (const char* call : kAllowed) {
    bool allowed = std::ranges::find(kNotOnHost, std::string_view(call)) == std::end(kNotOnHost);
    filter.rule(allowed ? SCMP_ACT_ALLOW : kEperm, call);
  }
  for (const char* call : kForbidden) filter.rule(kEperm, call);
  for (const char* call : kNesting) filter.rule(kEperm, call);
  for (const char* call : {"socket", "socketpair", "personality"}) filter.rule(kEperm, call);
  filter.rule(SCMP_ACT_ALLOW, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  filter.rule(kEperm, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  filter.rule(SCMP_ACT_ALLOW, "ioctl");
  add_rlimits(filter);
  filter.print_with_terminal_guard(name);
}

void print_unpack_filter(uint32_t arch, const char* name) {
  Filter filter(arch, kEnosys);
  for (const char* call : kUnpacking) filter.rule(SCMP_ACT_ALLOW, call);
  filter.print(name);
}

// New sockets are of the Internet, but for the pairs that its own parts are connected by.
void print_gateway_filter(uint32_t arch, const char* name) {
  Filter filter(arch, kEnosys);
  for (const char* call : kGateway) filter.rule(SCMP_ACT_ALLOW, call);
  for (int family : {AF_INET, AF_INET6})
    filter.rule(SCMP_ACT_ALLOW, "socket", SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, static_cast<uint64_t>(family)));
  filter.rule(SCMP_ACT_ALLOW, "socketpair", SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, AF_UNIX));
  filter.print(name);
}

void print_architecture(uint32_t arch, const char* macro) {
  std::printf("#if defined(%s)\n", macro);
  print_filter(arch, Nesting::Forbidden, "kFilter");
  print_filter(arch, Nesting::Allowed, "kNestingFilter");
  print_set_id_filter(arch, "kSetIdFilter");
  print_pinned_filter(arch, "kPinnedFilter");
  print_watched_filter(arch, "kWatchedFilter");
  print_host_filter(arch, "kHostFilter");
  print_unpack_filter(arch, "kUnpackFilter");
  print_gateway_filter(arch, "kGatewayFilter");
  std::printf("#endif\n");
}

}  // namespace
}  // namespace cove::seccomp

int main() {
  std::printf("#pragma once\n#include <linux/filter.h>\nnamespace cove::seccomp {\n");
  cove::seccomp::print_architecture(SCMP_ARCH_X86_64, "__x86_64__");
  cove::seccomp::print_architecture(SCMP_ARCH_AARCH64, "__aarch64__");
  std::printf("}  // namespace cove::seccomp\n");
}
