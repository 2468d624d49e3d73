#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove {

// One top folder of a root file system: what stands below it, read-only.
struct ImageMount {
  std::string target;               // "" for the root itself, "usr", "opt"
  std::vector<std::string> lowers;  // overlay lower folders, topmost first, absolute paths on the host
  // The last lower is the host's own folder: seen with the rights of an unprivileged user of this machine. There are
  // always at least two lowers then, and all but the last are Cove's.
  bool foreign = false;
};

// Something of the host's that is shown as it is, read-only and with its owners.
struct ImageBind {
  std::string target;  // "opt/NAME": a file or folder is there in the root
  std::string source;  // absolute, on the host
};

// What stands in the folder shown at /dev: the devices themselves, or empty files of the same names, over which the
// host's devices are to be bound (where this process, or the file system of the cache, can hold no devices).
enum class DevNodes { Real, Placeholders };

// A root file system that a runtime can stack under a writable layer.
struct ImageRoot {
  std::string reference;           // "host@" and 16 hexadecimal digits
  std::vector<ImageMount> mounts;  // the root first
  std::vector<ImageBind> binds;    // over them
  std::string dev;                 // the folder to show at /dev
  DevNodes dev_nodes = DevNodes::Placeholders;
  // The folder that holds all of the above. It is not removed while someone holds a shared flock(2) on it.
  std::string folder;
};

// The devices in ImageRoot::dev.
inline constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};

// This machine's own userland: /usr, /bin, /lib*, /opt and a curated /etc, without homes, /root, /run, /var and keys.
//
// What has to be generated (a skeleton of the root with /etc, the sudo client, the device nodes) is made once, below
// `cache`, in a folder named after the fingerprint of the package database, and found again afterwards. User ids on
// disk are those inside: root's files are 0:0 and the home is 1000:1000 where this process is root; an ordinary user
// owns them all. `sudo_program` is the client that is placed at /usr/bin/sudo; empty for none.
//
// Where the kernel cannot map the ids of an overlay's layers, all sandboxes share one range of host ids, and the files
// are made for it: they belong to `first_id` and those after it.
//
// Processes that make the same image at once all succeed. When one is made, older ones that nobody uses are removed
// (see host_cache.h): `hold` is to stay open until the image is mounted. Denied where `cache` is not this user's alone.
Result<ImageRoot> host_image(const std::string& cache, const std::string& sudo_program, UniqueFd& hold,
                             unsigned first_id = 0);

// Which of the two a folder of devices has.
DevNodes dev_nodes(const std::string& dev);

// Where images and the like are kept: $COVE_CACHE, else /var/cache/cove for root, else $XDG_CACHE_HOME/cove or
// ~/.cache/cove. It need not exist.
Result<std::string> cache_folder();

}  // namespace cove
