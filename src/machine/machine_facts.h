#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/runtime_kind.h"
#include "sys/probe.h"

namespace cove {

// Whether an attempt worked and, if not, why.
struct Attempt {
  bool works = false;
  std::string problem;
};

struct CgroupFacts {
  int version = 0;                       // 0: groups cannot be created
  std::vector<std::string> controllers;  // the usable ones of "cpu", "memory", "pids", "io"
  std::string problem;                   // why groups, or some of the controllers, cannot be used
  std::string remedy;
  bool through_systemd = false;  // in a scope that this user's systemd delegates
};

// Of the network that a sandbox can be given.
struct NetworkFacts {
  bool works = false;
  std::string problem;
  bool keeps_addresses = false;  // TPROXY; otherwise a redirect
  bool ipv6 = false;
};

// The facts on which a diagnosis is based.
struct MachineFacts {
  bool root = false;
  sys::KernelVersion kernel;
  Attempt user_namespaces;
  long max_user_namespaces = -1;          // -1: unknown
  bool user_namespaces_disabled = false;  // Debian's kernel.unprivileged_userns_clone=0
  bool apparmor_restricts = false;        // kernel.apparmor_restrict_unprivileged_userns=1
  Attempt overlay;                        // with root privilege; only as root
  Attempt overlay_in_user_namespace;
  Attempt idmapped_mounts;  // of /usr; only as root
  int landlock_abi = 0;
  std::vector<std::string> seccomp_actions;
  CgroupFacts cgroups;
  NetworkFacts network;
  bool kvm_exists = false;
  bool kvm_usable = false;
  bool btrfs_in_kernel = false;
  bool loop_devices = false;
  std::string mkfs_btrfs;
  std::string newuidmap;
  std::string newgidmap;
  bool subordinate_ids = false;  // at least 65,536 in both /etc/subuid and /etc/subgid
  uint32_t free_ids = 100'000;   // the first of 65,536 ids that neither assigns to anyone; 0: none
  std::string user;
  std::vector<RuntimeFact> runtimes;  // except native
};

// Tries everything; takes some tens of milliseconds.
MachineFacts examine_machine();

// Whether a table like /etc/subuid assigns a user, by name or number, at least 65,536 ids in one range.
bool has_subordinate_ids(const std::string& table, const std::string& user, unsigned uid);

// The first of 65,536 ids, starting where useradd starts, that none of these tables assigns to anyone; 0 if there are
// none below those of the sandboxes.
uint32_t first_free_ids(const std::vector<std::string>& tables);

}  // namespace cove
