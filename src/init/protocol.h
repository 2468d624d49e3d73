#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.h"

// The channel between Cove and cove-init (process 1 of a sandbox): messages over a SEQPACKET socket, descriptors
// beside them. docs/formats/init-channel.md describes it. Both sides take what they read as hostile: a Reader never
// reads past its end and never trusts a length.
namespace cove::wire {

inline constexpr size_t kMaxRequest = 6 * 1024 * 1024;  // the most that process 1 reads from such a memfd
inline constexpr size_t kMaxFigures = 32;               // that are taken from one program

enum class Type : uint32_t {
  // Cove → process 1
  Exec = 1,    // flags, ExecRequest; fds: [memfd if large] [stdin] stdout stderr [our ends, to keep] (none of these
               // with a pty), then join fds
  Signal = 2,  // id, number, Target
  Resize = 3,  // id, rows, columns
  View = 4,    // user; fds: the socket to serve
  Dial = 5,    // token, port
  Hello = 6,   // a new server took over: asks for the table of execs
  Attach = 7,  // id: asks for duplicates of the exec's output descriptors
  Shutdown = 8,
  CloseInput = 9,  // id: no more input will come, now or from a later server
  Forget = 10,     // id: how it ended is known and its output taken; nothing of it need be kept
  Who = 11,        // asks for process 1's own pidfd
  Code = 12,       // id, text: the script that a program started with kExecWaits waits for; or the command that one
                   // started with kExecCommandLater does: 1 if it reads its input, argv, env

  // process 1 → Cove
  Started = 32,  // id, pid inside; fds: the terminal's master. Only with a pty: nobody waits for the others
  Failed = 33,   // id, Stage, errno; then 1 where it was the compiler that failed to start
  Exited = 34,  // id, wait status, user µs, system µs, peak KiB, bytes in the writable layer, disk bytes read, written,
  // processes of it that process 1 killed at the memory limit, figures that it could not write; then 1 where it was the
  // compiler that ended;
  // fds: figures that it drew, plain files
  Dialed = 35,  // token, errno; fds: the connection
  Table = 36,   // last (0: more follow), count, then per exec: id, group, flags. Then Exited or Failed of each that has
                // ended
  Attached = 37,  // id, flags; fds: the terminal, or [stdin] stdout stderr
  Me = 38,        // fds: a pidfd of process 1
  Waiting = 39,   // id: the program has opened its script, and waits for it

  // in a view
  Open = 64,      // path, flags, mode → Done + fd
  Stat = 65,      // path, follow → Done, Entry
  List = 66,      // path → Entries… Done
  Mkdir = 67,     // path, mode, parents
  Remove = 68,    // path, recursive
  Rename = 69,    // from, to
  Chmod = 70,     // path, mode
  Glob = 71,      // pattern, folder → Entries… Done
  Readlink = 72,  // path → Done, target
  Symlink = 73,   // target, path
  Watch = 74,     // path, mask → Done, watch descriptor; the first also with fd: the inotify descriptor of this view
  Unwatch = 75,   // watch descriptor
  Entries = 80,   // count, entries
  Done = 81,      // errno, then what the operation returns
};

// Where the start of an exec failed.
enum class Stage : uint32_t {
  Request = 1,  // the message makes no sense
  Fork,
  User,  // no such user inside
  JoinGroup,
  Terminal,
  Rlimit,
  Identity,
  Folder,  // chdir to the working folder
  Fence,   // capabilities, no_new_privs, seccomp
  Execute,
};

// Everything: whatever the exec started. Where another kernel runs it (kModeInner), its groups tell; else its session
// does, and who started whom.
enum class Target : uint32_t { Process = 0, Group = 1, Everything = 2 };

struct Rlimit {
  uint64_t resource;
  uint64_t soft;
  uint64_t hard;
};

inline constexpr uint64_t kExecPty = 1;        // rows and columns are valid; no stdio descriptors
inline constexpr uint64_t kExecKeepPipes = 2;  // process 1 keeps our ends of the pipes for a next server
inline constexpr uint64_t kExecInMemfd = 4;    // the request is in the first descriptor
inline constexpr uint64_t kExecNoInput = 8;    // no stdin descriptors: it reads from /dev/null
inline constexpr uint64_t kExecWaits = 16;     // its last argument is the path of a script that comes later, as Code
inline constexpr uint64_t kExecCommandLater = 32;  // argv and env come as Code
inline constexpr uint64_t kExecFeed = 64;          // stdin is a file, to be fed to it through a pipe
// The descriptor leads to the terminal, which is made inside; what goes over it is passed on as it is.
inline constexpr uint64_t kExecFarTerminal = 128;
inline constexpr size_t kMaxCode = 48 * 1024;  // of such a script: it must fit into a pipe and a message

struct ExecRequest {
  std::string id;
  std::string user;
  std::string cwd;  // empty: the user's home
  std::vector<std::string> argv;
  std::vector<std::string> env;  // KEY=VALUE; HOME, USER, LOGNAME are filled in where missing
  std::vector<Rlimit> rlimits;
  std::string group;  // the name of its control group, the last word of its path; empty: it has none of its own
  uint64_t rows = 0;
  uint64_t columns = 0;
  std::vector<std::string> compile;  // a command that comes first, without input; argv follows where it ends with 0

  std::string encode() const {
    Writer out;
    out.text(id).text(user).text(cwd).text(group).texts(argv).texts(env).number(rows).number(columns).number(
        rlimits.size());
    for (const Rlimit& limit : rlimits) out.number(limit.resource).number(limit.soft).number(limit.hard);
    if (!compile.empty()) out.texts(compile);
    return out.data();
  }
  bool decode(Reader& in) {
    id = in.text();
    user = in.text();
    cwd = in.text();
    group = in.text();
    argv = in.texts();
    env = in.texts();
    rows = in.number();
    columns = in.number();
    uint64_t count = in.number();
    for (uint64_t i = 0; i < count && i < 32 && in.ok(); ++i)
      rlimits.push_back({in.number(), in.number(), in.number()});
    if (!in.rest().empty()) compile = in.texts();
    return in.done() && !argv.empty() && !id.empty() && id.size() <= 64;
  }
};

// What a view tells of a file.
struct Entry {
  std::string name;
  uint64_t mode = 0;
  uint64_t size = 0;
  uint64_t mtime_ns = 0;
  uint64_t uid = 0;
  uint64_t gid = 0;

  void encode(Writer& out) const { out.text(name).number(mode).number(size).number(mtime_ns).number(uid).number(gid); }
  static Entry decode(Reader& in) {
    Entry entry;
    entry.name = in.text();
    entry.mode = in.number();
    entry.size = in.number();
    entry.mtime_ns = in.number();
    entry.uid = in.number();
    entry.gid = in.number();
    return entry;
  }
};

// Process 1's inherited descriptors.
inline constexpr int kControlFd = 3;  // the channel
inline constexpr int kGoFd = 4;       // a byte arrives when the walls stand; end of file: give up
inline constexpr int kListenFd = 5;   // only where a next server may come: new channels are accepted here
inline constexpr int kLockFd = 6;     // there too: holds the sandbox's range of user ids by being open

inline constexpr int kInnerFd = 7;  // with kModeOuter: the channel to process 1 of the other kernel

// Process 1's arguments: cove-init VERSION MODE [DOOR], with letters of MODE:
inline constexpr char kModeOneRun = 'o';    // ends when the channel closes
inline constexpr char kModeOneExec = 'x';   // ends with its first program
inline constexpr char kModeNesting = 'n';   // namespaces may be made inside
inline constexpr char kModeSingleId = 's';  // only one user id is mapped: root is played in a namespace of its own
inline constexpr char kModeLandlock = 'l';
inline constexpr char kModePinned = 'p';   // the CPU affinity holds the limit of CPUs
inline constexpr char kModeWatched = 'm';  // a watcher holds the limit of memory
inline constexpr char kModeNoSetId = 'w';  // a folder of the host's can be written to: no set-id files

// The programs run in another kernel (gVisor), and this process 1, which stays on the host's, has them started by the
// one there; it serves files and later servers itself.
inline constexpr char kModeOuter = 'k';
// In that kernel: cove-init VERSION MODE PROCESSES MEMORY (bytes; 0: no bound). The channel is its standard input.
// Nothing it sends can have descriptors.
inline constexpr char kModeInner = 'g';

// Where a container engine starts process 1, it inherits nothing: it connects to the socket at the path DOOR and is
// sent this word and the id that `user` is to have where the image has none; beside it its channel and, if a next
// server may come, the listening socket. It answers with the version of Landlock's interface that it found, 0 for none.
inline constexpr std::string_view kDoorWord = "come in";
inline constexpr uint64_t kDoorUser = 1000;

// The address at which sudo inside asks process 1: abstract, in the sandbox's own network namespace.
inline constexpr std::string_view kSudoAddress{"\0cove/sudo", 10};

}  // namespace cove::wire
