#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/wire.h"
#include "net/policy.h"
#include "net/sockets.h"

// The channel between coved and cove-gateway: messages over a SEQPACKET socket (docs/formats/gateway-channel.md). The
// gateway trusts coved's messages; coved takes the gateway's as untrusted.
namespace cove::net {

enum class ToGateway : uint32_t {
  Settings = 1,  // fd: a sealed memfd with encoded GatewaySettings
  Attach = 2,    // sandbox, steering, a bit for each socket that is there; fds: these sockets
  Policy = 3,  // sandbox; fd: a sealed memfd with an encoded EffectivePolicy. Before the first one nothing is accepted
  Detach = 4,  // sandbox: its connections are cut, its sockets closed
  Sync = 5,    // token, sandbox → Synced, after all entries so far
};
enum class FromGateway : uint32_t {
  Entry = 32,    // NetworkEntry
  Synced = 33,   // token, bytes in, bytes out, connections, entries that were dropped
  Request = 34,  // sandbox, host, port, reason: somebody inside asks for access at http://cove.internal/
};

struct GatewaySettings {
  std::vector<std::string> resolvers;  // "192.0.2.1:53"; empty: those of /etc/resolv.conf
  uint64_t connections = 4096;         // at a time, of one sandbox
  std::string upstream_ca;  // PEM: authorities that intercepted connections trust besides the host's, at most 256 KiB
};

// One connection, lookup or request, as it is logged. A connection has one entry when it begins and one when it ends,
// with the same `connection`; what is denied has one.
struct NetworkEntry {
  enum class Stage : uint32_t { Opened, Closed, Denied, Lookup, Request };
  std::string sandbox;
  uint64_t connection = 0;
  Stage stage = Stage::Denied;
  Protocol protocol = Protocol::Tcp;
  std::string host;     // the name, or the address as text
  std::string address;  // that was connected to, or empty
  uint16_t port = 0;
  std::string method;
  std::string path;
  bool allowed = false;
  std::string rule;
  std::string layer;
  std::string why;
  std::string code;
  uint64_t in_bytes = 0;  // to the sandbox
  uint64_t out_bytes = 0;
  int64_t time_ms = 0;  // since 1970
};
// Whether a text can be shown and stored: UTF-8 of at most 1 KiB without control characters.
bool is_plain(std::string_view text);
const char* stage_name(NetworkEntry::Stage stage);  // "denied"

void encode(wire::Writer& out, const GatewaySettings& settings);
Result<GatewaySettings> decode_settings(wire::Reader& in);
// What programs inside chose is cut to 1 KiB and made plain: control characters and invalid UTF-8 become '?'.
void encode(wire::Writer& out, const NetworkEntry& entry);
// Invalid where a field is longer than 1 KiB, has control characters or is not what it must be.
Result<NetworkEntry> decode_entry(wire::Reader& in);

}  // namespace cove::net
