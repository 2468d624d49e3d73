#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove {

// One top-level folder of a root file system: its read-only content.
struct ImageMount {
  std::string target;               // "" for the root itself, "usr", "opt"
  std::vector<std::string> lowers;  // overlay lower folders, topmost first, absolute paths on the host
  // The last lower is the host's own folder, mounted with the rights of an unprivileged user of this machine. Then
  // there are at least two lowers, and all except the last are Cove's.
  bool foreign = false;
};

// A file or folder of the host that is mounted unchanged, read-only and with its owners.
struct ImageBind {
  std::string target;  // "opt/NAME": a file or folder that exists in the root
  std::string source;  // absolute, on the host
};

// The content of the folder mounted at /dev: device nodes, or empty files of the same names over which the host's
// devices must be bound (if this process or the file system of the cache does not support device nodes).
enum class DevNodes { Real, Placeholders };

// A root file system that a runtime can stack under a writable layer.
struct ImageRoot {
  std::string reference;           // "host@" and 16 hexadecimal digits
  std::vector<ImageMount> mounts;  // the root first
  std::vector<ImageBind> binds;    // over them
  std::string dev;                 // the folder to mount at /dev
  DevNodes dev_nodes = DevNodes::Placeholders;
  // The folder that contains all of the above. It is not removed while a shared flock(2) is held on it.
  std::string folder;
};

// The devices in ImageRoot::dev.
inline constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};

// This machine's own userland: /usr, /bin, /lib*, /opt and a curated /etc, without homes, /root, /run, /var and keys.
//
// The generated parts (a skeleton of the root with /etc, the sudo client, the device nodes) are created once, below
// `cache`, in a folder named after the fingerprint of the package database, and reused. User ids on disk are those
// inside: root's files are 0:0 and the home is 1000:1000 if this process is root; otherwise the user owns all files.
// `sudo_program` is the client that is placed at /usr/bin/sudo; empty for none.
//
// If the kernel cannot map the ids of an overlay's layers, all sandboxes share one range of host ids, and the files
// belong to `first_id` and the ids after it.
//
// Concurrent processes that build the same image all succeed. After a build, unused older images are removed (see
// host_cache.h); `hold` must stay open until the image is mounted. Denied if other users can write to `cache`.
Result<ImageRoot> host_image(const std::string& cache, const std::string& sudo_program, UniqueFd& hold,
                             unsigned first_id = 0);

// Which of the two a /dev folder contains.
DevNodes dev_nodes(const std::string& dev);

// The folder for images: $COVE_CACHE, otherwise /var/cache/cove for root, otherwise $XDG_CACHE_HOME/cove or
// ~/.cache/cove. It need not exist.
Result<std::string> cache_folder();

}  // namespace cove
