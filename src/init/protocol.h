#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.h"

// The channel between Cove and cove-init (process 1 of a sandbox): messages over a SEQPACKET socket, with descriptors,
// described in docs/formats/init-channel.md. Both sides treat what they read as untrusted: a Reader never reads past
// its end and never trusts a length.
namespace cove::wire {

inline constexpr size_t kMaxRequest = 6 * 1024 * 1024;  // the maximum that process 1 reads from a memfd with a request
inline constexpr size_t kMaxFigures = 32;               // taken from one program

enum class Type : uint32_t {
  // Cove → process 1
  Exec = 1,    // flags, ExecRequest; fds: [memfd if large] [stdin] stdout stderr [our ends, to keep] (none of these
               // with a pty), then join fds
  Signal = 2,  // id, number, Target
  Resize = 3,  // id, rows, columns
  View = 4,    // user; fds: the socket to serve
  Dial = 5,    // token, port; then 6 for [::1] in place of 127.0.0.1
  Hello = 6,   // a new server took over: requests the table of execs
  Attach = 7,  // id: requests duplicates of the exec's output descriptors
  Shutdown = 8,
  CloseInput = 9,        // id: no more input will follow, from this server or a later one
  Forget = 10,           // id: its result and output are stored; nothing of it has to be kept
  IdentityRequest = 11,  // requests process 1's own pidfd
  Code = 12,  // id, text: the script that a program started with kExecWaits waits for; or the command that one
              // started with kExecCommandLater does: 1 if it reads its input, argv, env
  Ports =
      13,  // fds: the socket to answer on, with a Port for each listening port that a process inside holds, then Done

  // process 1 → Cove
  Started = 32,  // id, pid inside; fds: the terminal's master. Only with a pty: for other execs no reply is needed
  Failed = 33,   // id, Stage, errno; then 1 where it was the compiler that failed to start
  Exited = 34,  // id, wait status, user µs, system µs, peak KiB, bytes in the writable layer, disk bytes read, written,
  // processes of it that process 1 killed at the memory limit, figures that it could not write; then 1 where it was the
  // compiler that ended;
  // fds: figures that it drew, plain files
  Dialed = 35,  // token, errno; fds: the connection
  Table = 36,   // last (0: more follow), count, then per exec: id, group, flags. Then Exited or Failed of each that has
                // ended
  Attached = 37,  // id, flags; fds: the terminal, or [stdin] stdout stderr
  Identity = 38,  // fds: a pidfd of process 1
  Waiting = 39,   // id: the program has opened its script and waits for it

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

  Port = 82,  // ListeningSocket
};

// The step at which the start of an exec failed.
enum class Stage : uint32_t {
  Request = 1,  // the message is malformed
  Fork,
  User,  // no such user inside
  JoinGroup,
  Terminal,
  Rlimit,
  Identity,
  Folder,  // chdir to the working folder
  Fence,   // capabilities, no_new_privs, seccomp
  Execute,
  Network,  // its own network namespace
};

// Everything: all processes that the exec started. They are found by its groups if another kernel runs it (kModeInner),
// otherwise by its session and by parentage.
enum class Target : uint32_t { Process = 0, Group = 1, Everything = 2 };

struct Rlimit {
  uint64_t resource;
  uint64_t soft;
  uint64_t hard;
};

inline constexpr uint64_t kExecPty = 1;        // rows and columns are valid; no stdio descriptors
inline constexpr uint64_t kExecKeepPipes = 2;  // process 1 keeps our ends of the pipes for a later server
inline constexpr uint64_t kExecInMemfd = 4;    // the request is in the first descriptor
inline constexpr uint64_t kExecNoInput = 8;    // no stdin descriptors: it reads from /dev/null
inline constexpr uint64_t kExecWaits = 16;     // its last argument is the path of a script that is sent later, as Code
inline constexpr uint64_t kExecCommandLater = 32;  // argv and env are sent later, as Code
inline constexpr uint64_t kExecFeed = 64;          // stdin is a file that is fed to it through a pipe
// The descriptor carries the bytes of the terminal, which is created inside.
inline constexpr uint64_t kExecFarTerminal = 128;
inline constexpr uint64_t kExecOwnNetwork = 256;  // in an empty network namespace of its own
inline constexpr size_t kMaxCode = 48 * 1024;     // of such a script, which must fit into a pipe and a message

struct ExecRequest {
  std::string id;
  std::string user;
  std::string cwd;  // empty: the user's home
  std::vector<std::string> argv;
  std::vector<std::string> env;  // KEY=VALUE; HOME, USER, LOGNAME are filled in where missing
  std::vector<Rlimit> rlimits;
  std::string group;  // the name of its control group, the last component of its path; empty: it has none
  uint64_t rows = 0;
  uint64_t columns = 0;
  std::vector<std::string> compile;  // a command to run first, without input; argv follows if it exits with 0

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

// A file's attributes in a view.
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

// A listening TCP socket inside, and the first process that has it open.
struct ListeningSocket {
  std::string address;  // 4 or 16 bytes
  uint64_t port = 0;
  uint64_t pid = 0;     // inside; 0: unknown
  std::string name;     // of the process
  std::string command;  // its arguments, with spaces in between

  void encode(Writer& out) const { out.text(address).number(port).number(pid).text(name).text(command); }
  static ListeningSocket decode(Reader& in) {
    ListeningSocket socket;
    socket.address = in.text();
    socket.port = in.number();
    socket.pid = in.number();
    socket.name = in.text();
    socket.command = in.text();
    return socket;
  }
};
inline constexpr size_t kMaxPorts = 256;

// Process 1's inherited descriptors.
inline constexpr int kControlFd = 3;  // the channel
inline constexpr int kGoFd = 4;       // a byte arrives when the sandbox is built; end of file: the build failed
inline constexpr int kListenFd = 5;   // only if a later server may connect: new channels are accepted here
inline constexpr int kLockFd = 6;     // likewise: while it is open, the sandbox's range of user ids is reserved

inline constexpr int kInnerFd = 7;  // with kModeOuter: the channel to process 1 of the other kernel

// Process 1's arguments: cove-init VERSION MODE [SOCKET], with letters of MODE:
inline constexpr char kModeOneRun = 'o';    // ends when the channel closes
inline constexpr char kModeOneExec = 'x';   // ends with its first program
inline constexpr char kModeNesting = 'n';   // namespaces may be created inside
inline constexpr char kModeSingleId = 's';  // only one user id is mapped: root is emulated in a user namespace
inline constexpr char kModeLandlock = 'l';
inline constexpr char kModePinned = 'p';   // the CPU affinity enforces the CPU limit
inline constexpr char kModeWatched = 'm';  // a watcher enforces the memory limit
inline constexpr char kModeNoSetId = 'w';  // a folder of the host is writable: no set-id files

// The programs run in another kernel (gVisor). This process 1, on the host's kernel, lets the inner one start them; it
// serves files and later servers itself.
inline constexpr char kModeOuter = 'k';
// In that kernel: cove-init VERSION MODE PROCESSES MEMORY (bytes; 0: no limit). The channel is its standard input. Its
// messages cannot carry descriptors.
inline constexpr char kModeInner = 'g';

// If a container engine starts process 1, it inherits no descriptors. It connects to the socket at the path SOCKET and
// receives this word and the id for `user` if the image does not define it, together with its channel and, if a later
// server may connect, the listening socket. It replies with the Landlock ABI version that it found, 0 for none.
inline constexpr std::string_view kHandoffWord = "come in";
inline constexpr uint64_t kDefaultUserId = 1000;

// The address at which sudo inside connects to process 1: abstract, in the sandbox's own network namespace.
inline constexpr std::string_view kSudoAddress{"\0cove/sudo", 10};

}  // namespace cove::wire
