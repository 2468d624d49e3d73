#include "image/fingerprint.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace cove {
namespace {

// Incremented when the generated files change, so that folders of older versions are not used.
constexpr uint64_t kFormat = 17;

// Package databases; then the files copied from /etc; then what determines the mounts.
constexpr const char* kWatched[] = {
    "/var/lib/dpkg/status",
    "/var/lib/rpm",
    "/usr/lib/sysimage/rpm/rpmdb.sqlite",
    "/lib/apk/db/installed",
    "/var/lib/pacman/local",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/pki/ca-trust/extracted/pem",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/localtime",
    "/etc/default/locale",
    "/etc/locale.conf",
    "/etc/apt/sources.list",
    "/etc/apt/sources.list.d",
    "/etc/apt/apt.conf.d",
    "/etc/skel",
    "/bin",
    "/lib",
    "/lib64",
    "/opt",
    "/usr",
};

// FNV-1a over whole words, with mixing: protects only against accidents, because the cache belongs to the user.
class Hash {
 public:
  void add(uint64_t word) {
    state_ = (state_ ^ word) * 0x100000001b3;
    state_ ^= state_ >> 29;
    state_ *= 0xbf58476d1ce4e5b9;
    state_ ^= state_ >> 32;
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

void add_file(Hash& hash, const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) < 0) return hash.add(0);
  hash.add(static_cast<uint64_t>(info.st_mode));
  hash.add(static_cast<uint64_t>(info.st_ino));
  hash.add(static_cast<uint64_t>(info.st_size));
  hash.add(static_cast<uint64_t>(info.st_mtim.tv_sec));
  hash.add(static_cast<uint64_t>(info.st_mtim.tv_nsec));
}

}  // namespace

std::string host_fingerprint(const std::string& host_root, const std::string& sudo_program) {
  Hash hash;
  hash.add(kFormat);
  hash.add(::geteuid());
  for (const char* path : kWatched) add_file(hash, host_root + path);
  if (!sudo_program.empty()) add_file(hash, sudo_program);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash.value()));
  return digits;
}

}  // namespace cove
