#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cove {

// One top folder of a root file system: what stands below it, read-only.
struct ImageMount {
  std::string target;               // "" for the root itself, "usr", "opt"
  std::vector<std::string> lowers;  // overlay lower folders, topmost first, absolute paths on the host
  // The host's own files: seen with the rights of an unprivileged user of this machine.
  bool foreign = false;
};

// A root file system that a runtime can stack under a writable layer.
struct ImageRoot {
  std::string reference;  // "host@3f2a…"
  std::vector<ImageMount> mounts;  // the root first
  std::string dev;  // a folder with device nodes to show at /dev, empty where the machine cannot make them
};

// This machine's own userland: /usr, /bin, /lib*, /opt and a curated /etc, without homes, /root, /run, /var and keys.
//
// What has to be generated (a skeleton of the root with /etc, the sudo client, the device nodes) is made once, below
// `cache`, in a folder named after the fingerprint of the package database, and found again afterwards.
// `sudo_program` is the client that is placed at /usr/bin/sudo.
Result<ImageRoot> host_image(const std::string& cache, const std::string& sudo_program);

}  // namespace cove
