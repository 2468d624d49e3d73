#include "net/channel.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/text.h"

namespace cove::net {
namespace {

constexpr const char* kStageNames[] = {"opened", "closed", "denied", "lookup", "request"};  // in the order of Stage
constexpr size_t kLongestField = 1024;
constexpr size_t kMostResolvers = 32;

bool is_control(char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }

// What a program inside chose can be anything: it must not keep an entry from being logged.
std::string plain(std::string text) {
  text.resize(std::min(text.size(), kLongestField));
  std::ranges::replace_if(text, is_control, '?');
  if (!is_utf8(text)) std::ranges::replace_if(text, [](char c) { return c < 0; }, '?');
  return text;
}

bool has_plain_texts(const NetworkEntry& entry) {
  return std::ranges::all_of(
      std::initializer_list<const std::string*>{&entry.host, &entry.address, &entry.method, &entry.path, &entry.rule,
                                                &entry.layer, &entry.why, &entry.code},
      [](const std::string* text) { return is_plain(*text); });
}

}  // namespace

bool is_plain(std::string_view text) {
  return text.size() <= kLongestField && is_utf8(text) && std::ranges::none_of(text, is_control);
}

const char* stage_name(NetworkEntry::Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }

void encode(wire::Writer& out, const GatewaySettings& settings) {
  out.texts(settings.resolvers).number(settings.connections).text(settings.upstream_ca);
}

Result<GatewaySettings> decode_settings(wire::Reader& in) {
  GatewaySettings settings;
  settings.resolvers = in.texts();
  settings.connections = in.number();
  settings.upstream_ca = in.text();
  if (!in.ok() || settings.resolvers.size() > kMostResolvers)
    return fail(Code::Invalid, "the gateway's settings are malformed");
  return settings;
}

void encode(wire::Writer& out, const NetworkEntry& entry) {
  out.text(entry.sandbox).number(entry.connection).number(static_cast<uint64_t>(entry.stage));
  out.number(static_cast<uint64_t>(entry.protocol))
      .text(plain(entry.host))
      .text(plain(entry.address))
      .number(entry.port);
  out.text(plain(entry.method)).text(plain(entry.path)).number(entry.allowed);
  for (const std::string* text : {&entry.rule, &entry.layer, &entry.why, &entry.code}) out.text(plain(*text));
  out.number(entry.in_bytes).number(entry.out_bytes).number(static_cast<uint64_t>(entry.time_ms));
}

Result<NetworkEntry> decode_entry(wire::Reader& in) {
  NetworkEntry entry;
  entry.sandbox = in.text();
  entry.connection = in.number();
  const uint64_t stage = in.number(), protocol = in.number();
  entry.host = in.text();
  entry.address = in.text();
  const uint64_t port = in.number();
  entry.method = in.text();
  entry.path = in.text();
  const uint64_t allowed = in.number();
  for (std::string* text : {&entry.rule, &entry.layer, &entry.why, &entry.code}) *text = in.text();
  entry.in_bytes = in.number();
  entry.out_bytes = in.number();
  entry.time_ms = static_cast<int64_t>(in.number());
  const bool sound = in.ok() && stage <= static_cast<uint64_t>(NetworkEntry::Stage::Request) &&
                     protocol <= static_cast<uint64_t>(Protocol::Http) && port <= UINT16_MAX && allowed <= 1;
  if (!sound || entry.time_ms < 0 || !is_plain(entry.sandbox) || !has_plain_texts(entry))
    return fail(Code::Invalid, "an entry of the network log is malformed");
  entry.stage = static_cast<NetworkEntry::Stage>(stage);
  entry.protocol = static_cast<Protocol>(protocol);
  entry.port = static_cast<uint16_t>(port);
  entry.allowed = allowed == 1;
  return entry;
}

}  // namespace cove::net
