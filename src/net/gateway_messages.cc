#include "net/gateway_messages.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/text.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace cove::net {
namespace {

size_t size_of(const std::vector<std::string>& texts) {
  size_t size = 0;
  for (const std::string& text : texts) size += text.size() + sizeof(uint64_t);
  return size;
}

// More than the encoded policy needs.
size_t room_for(const EffectivePolicy& policy) {
  constexpr size_t kNumbers = 256;  // of each part
  size_t size = kNumbers + policy.authority_certificate.size() + policy.authority_key.size();
  for (const PolicyLayer& layer : policy.layers)
    size += kNumbers + layer.name.size() + size_of(layer.policy.allow) + size_of(layer.policy.block);
  for (const BrokeredSecret& secret : policy.secrets)
    size += kNumbers + secret.name.size() + secret.placeholder.size() + secret.value.size() + size_of(secret.hosts) +
            size_of(secret.places);
  return size;
}

Result<UniqueFd> seal(std::string_view content) {
  UniqueFd file(::memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_errno("memfd_create");
  COVE_TRY(sys::write_all(file.get(), content));
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
    return fail_errno("seal a file in memory: fcntl");
  return file;
}

// So that each gateway reads from the start, and cannot write.
Result<UniqueFd> reopen(const UniqueFd& sealed) { return sys::open(sys::fd_path(sealed.get()), O_RDONLY); }

}  // namespace

Result<UniqueFd> seal_policy(const EffectivePolicy& policy) {
  wire::Writer out;
  out.reserve(room_for(policy));
  encode(out, policy);
  Result<UniqueFd> file = seal(out.data());
  out.wipe();
  return file;
}

Result<void> send_settings(int channel, const GatewaySettings& settings) {
  wire::Writer encoded;
  encode(encoded, settings);
  const UniqueFd sealed = COVE_TRY(seal(encoded.data()));
  const UniqueFd file = COVE_TRY(reopen(sealed));
  return sys::send_message(channel, wire::Writer(ToGateway::Settings).data(), {file.get()});
}

Result<void> send_attach(int channel, const std::string& sandbox, const NetworkSockets& sockets) {
  uint64_t there = 0;
  std::vector<int> fds;
  for (size_t i = 0; i < sockets.fds.size(); ++i) {
    if (!sockets.fds[i]) continue;
    there |= uint64_t{1} << i;
    fds.push_back(sockets.fds[i].get());
  }
  wire::Writer out(ToGateway::Attach);
  out.text(sandbox).number(static_cast<uint64_t>(sockets.steering)).number(there);
  return sys::send_message(channel, out.data(), fds);
}

Result<void> send_policy(int channel, const std::string& sandbox, const UniqueFd& sealed) {
  const UniqueFd file = COVE_TRY(reopen(sealed));
  wire::Writer out(ToGateway::Policy);
  out.text(sandbox);
  return sys::send_message(channel, out.data(), {file.get()});
}

Result<void> send_detach(int channel, const std::string& sandbox) {
  return sys::send_message(channel, wire::Writer(ToGateway::Detach).text(sandbox).data());
}

Result<void> send_sync(int channel, uint64_t token, const std::string& sandbox) {
  return sys::send_message(channel, wire::Writer(ToGateway::Sync).number(token).text(sandbox).data());
}

Result<Synced> decode_synced(wire::Reader& in) {
  Synced synced;
  synced.token = in.number();
  synced.counters.in_bytes = in.number();
  synced.counters.out_bytes = in.number();
  synced.counters.connections = in.number();
  synced.dropped = in.number();
  if (!in.done()) return fail(Code::Invalid, "the gateway's counters are malformed");
  return synced;
}

Result<AccessRequest> decode_request(wire::Reader& in) {
  AccessRequest request;
  request.sandbox = in.text();
  request.host = in.text();
  const uint64_t port = in.number();
  request.reason = in.text();
  request.port = static_cast<uint16_t>(port);
  if (!in.done() || port > UINT16_MAX || request.host.empty() || !is_plain(request.sandbox) ||
      !is_plain(request.host) || !is_plain(request.reason))
    return fail(Code::Invalid, "a request for access is malformed");
  return request;
}

}  // namespace cove::net
