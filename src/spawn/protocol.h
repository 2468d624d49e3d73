#pragma once

#include <string>

#include "base/result.h"
#include "image/local_layer_store.h"
#include "image/manifest.h"
#include "init/protocol.h"
#include "model/sandbox.h"
#include "runtime/host_runner.h"
#include "runtime/native/holding_codec.h"
#include "sys/cgroup.h"

// The channel between coved, which has no privilege, and cove-spawn, which has: messages over a SEQPACKET socket,
// described in docs/formats/spawn-channel.md. cove-spawn treats requests as untrusted: every field is checked before
// anything is done, and no request affects anything but sandboxes that Cove created.
namespace cove::spawn {

using namespace native;  // the types of sandboxes and their resources
using wire::Reader;
using wire::Writer;

inline constexpr size_t kMaxMessage = 200 * 1024;
inline constexpr size_t kMaxKnown =
    100'000;                               // sandboxes named in one sweep, over several messages; also keys of layers
inline constexpr size_t kMaxLayers = 127;  // of an image

enum class Type : uint32_t {
  // coved → cove-spawn; each begins with a token that the reply repeats
  Create = 1,        // spec; fd: the caller's own connection, if a folder of the caller is mounted → holding, bytes of
                     // disk, whether it has groups, folder of its layer, 1 and the first ExecGroup or 0; fds: the
                     // channel to process 1, those of the group
  Adopt = 2,         // spec → as Create
  RemoveFiles = 3,   // id, runtime
  Sweep = 4,         // last (0: more follow), ids
  Spare = 5,         // id → ExecGroup
  AdoptGroup = 6,    // id, name → ExecGroup without join descriptors
  KillGroup = 7,     // id, name
  RetireGroup = 8,   // id, name; not answered
  Freeze = 9,        // id
  Thaw = 10,         // id
  SetLimits = 11,    // id, limits
  Usage = 12,        // id → numbers of CgroupUsage
  LayerUsage = 13,   // id → number
  Kill = 14,         // id; not answered
  Destroy = 15,      // id, Files
  Release = 16,      // id: closes the handle, the sandbox keeps running; not answered
  RunOnHost = 17,    // id, HostRunOrder; fds: the caller's own connection, output, errors, and the verdict or the input
                     // → how it ended
  KillOnHost = 18,   // id; not answered
  FindLayers = 19,   // keys → of each: whether it exists, and its report
  UnpackLayer = 20,  // UnpackRequest; fd: the archive → report
  AssembleImage = 21,  // digest, keys
  ExamineLayer = 22,   // key → report
  SweepImages = 23,    // last (0: more follow), digests, keys: all others go
  RecordBase = 24,   // id, path, device and inode of a workspace; fds: output, errors, and the caller's own connection,
                     // where there is one
                     // → how it ended
  EngineImage = 25,  // runtime, name of an image of its engine → how its programs are run
  ExamineRuntime = 26,  // any but native → title, whether it can be used, version, program or socket, problem, remedy
  Diagnose = 27,        // → what `cove doctor --json` says, run with cove-spawn's rights
  PinWorkspace = 28,    // path of a workspace, access; fd: the caller's own connection, where there is one
                        // → device and inode of the folder that is there

  OpenNetwork = 29,   // id → steering, a bit for each socket; fds: the sockets
  StartGateway = 30,  // → fd: the channel to cove-gateway

  // cove-spawn → coved
  Done = 32,         // token, what the operation returns; fds
  Failed = 33,       // token, error
  Built = 34,        // id: the sandbox is built
  Broken = 35,       // id, error: the build failed
  OutOfMemory = 36,  // id: its memory watcher killed it
};

inline Writer message(Type type, uint64_t token) {
  Writer out;
  out.number(static_cast<uint64_t>(type)).number(token);
  return out;
}

// The fields of a spec that cove-spawn needs. Others, such as the environment, are never sent.
void encode(Writer& out, const SandboxSpec& spec);
// Invalid if a field is invalid.
Result<SandboxSpec> decode_spec(Reader& in);

void encode(Writer& out, const Limits& limits);
Limits decode_limits(Reader& in);

void encode(Writer& out, const sys::CgroupUsage& usage);
sys::CgroupUsage decode_usage(Reader& in);

void encode(Writer& out, const HostRunOrder& order);
// Invalid if a field is invalid.
Result<HostRunOrder> decode_host_order(Reader& in);
void encode(Writer& out, const HostRunEnd& end);
HostRunEnd decode_host_end(Reader& in);

void encode(Writer& out, const UnpackRequest& request);
// Invalid if a field is invalid.
Result<UnpackRequest> decode_unpack(Reader& in);
// Without the list of opaque folders, which coved does not need.
void encode(Writer& out, const unpack::Report& report);

// The part of an image's configuration that determines how its programs are run.
void encode(Writer& out, const ImageConfig& config);
ImageConfig decode_image_config(Reader& in);

// A sandbox id: 20 characters of [a-z0-9]. It becomes part of paths and group names.
bool is_sandbox_id(std::string_view id);
// The name of an exec's group, as cove-spawn generates it.
bool is_group_name(std::string_view name);

}  // namespace cove::spawn
