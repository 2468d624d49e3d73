#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/limits.h"
#include "model/network.h"

namespace cove {

enum class Access {
  None,
  ReadOnly,
  ReadWrite,
  Review,  // it can be written to inside, and the folder itself stays as it is: the writes are in the writable layer
};

const char* access_name(Access access);  // "none", "ro", "rw", "review"
std::optional<Access> access_of(std::string_view name);

// Whose commits those made in a sandbox are, unless a repository or a program says otherwise.
struct GitAuthor {
  std::string name;
  std::string email;
  bool operator==(const GitAuthor&) const = default;
};
// Whether it can be a name or an address: at most 256 bytes, no control characters.
bool fits_git_author(std::string_view text);

// The user's folder that a sandbox works on, shown at kWorkspacePath.
struct Workspace {
  std::string path;  // absolute, on the host
  Access access = Access::None;
  // The folder that must be at `path`, where it was seen before (0: whichever is): a number of its file system that
  // stays, and its own in there.
  uint64_t device = 0;
  uint64_t inode = 0;
  GitAuthor author;
  std::string worktree;  // where it is a linked git worktree whose repository is shown, too: its name in there
  int repository = -1;   // a detached mount of that
  int mount = -1;        // a detached mount of the folder, where somebody has opened it already
  int caller = -1;       // the connection of whoever asked for it: his rights decide; -1: the server's own rules do
};
inline constexpr const char* kWorkspacePath = "/workspace";
// Where the repository of a linked git worktree is shown.
inline constexpr const char* kRepositoryPath = "/.cove/git";

// How long the writable layer is meant to live; decides the kind of layer and how much is kept on disk.
enum class Lifetime { OneRun, Long };

using Environment = std::vector<std::pair<std::string, std::string>>;

// What an image says about how its programs are run.
struct ImageDefaults {
  Environment env;
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  std::string cwd;  // empty: the user's home
};

// The words to execute in an image: its entrypoint, or another one in its place, then the words, or the image's own
// where there are none. Invalid where neither says what to run.
Result<std::vector<std::string>> command_of(const ImageDefaults& defaults,
                                            const std::optional<std::vector<std::string>>& entrypoint,
                                            const std::vector<std::string>& words);

// All that is needed to make a sandbox. Each member has a row in sandbox_fields.h.
struct SandboxSpec {
  std::string id;  // 20 characters of [a-z0-9]
  std::string name;
  std::map<std::string, std::string> labels;
  std::string image = "host";
  std::string runtime;           // a name of runtime_kind.h; empty: the default
  Environment env;               // for every exec
  ImageDefaults image_defaults;  // filled in where the image is looked up
  std::string user = "user";     // name or uid[:gid], looked up inside; empty: the image's own
  Limits limits;
  Strictness strictness = Strictness::FallBack;
  NetworkPolicy network;
  std::vector<std::string> secrets;  // names of those that every exec gets
  std::string agent;                 // whose they may be, besides the project's
  Workspace workspace;
  Lifetime lifetime = Lifetime::OneRun;
  bool one_use = false;         // it goes after its first use, whatever its lifetime: its layer is as of one run
  bool nesting = false;         // user namespaces may be used inside
  bool restarted = false;       // its writable layer is there already, from when it ran before
  bool ends_with_exec = false;  // the end of its first exec is the sandbox's own
  bool single_exec = false;  // there will be one exec and no pause: it needs no control group apart from the sandbox's
};

// Where none is named.
inline uint64_t usual_disk(const SandboxSpec& spec) { return spec.one_use ? kDefaultMemoryLayer : kDefaultDisk; }

}  // namespace cove
