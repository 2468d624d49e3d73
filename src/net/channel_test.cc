#include "net/channel.h"

#include <gtest/gtest.h>

namespace cove::net {
namespace {

NetworkEntry example() {
  NetworkEntry entry{
      .sandbox = "k3", .connection = 9, .stage = NetworkEntry::Stage::Closed, .protocol = Protocol::Http};
  entry.host = "example.org";
  entry.address = "192.0.2.1";
  entry.port = 443;
  entry.method = "GET";
  entry.path = "/ä";
  entry.allowed = true;
  entry.rule = "*.example.org";
  entry.layer = "sandbox";
  entry.why = "because";
  entry.code = "blocked";
  entry.in_bytes = 1;
  entry.out_bytes = 2;
  entry.time_ms = 3;
  return entry;
}

Result<NetworkEntry> carried(const NetworkEntry& entry) {
  wire::Writer out;
  encode(out, entry);
  wire::Reader in(out.data());
  Result<NetworkEntry> arrived = decode_entry(in);
  EXPECT_TRUE(in.done());
  return arrived;
}

std::string text_of(const NetworkEntry& entry) {
  wire::Writer out;
  encode(out, entry);
  return out.data();
}

TEST(GatewayChannel, EntriesArriveAsTheyWereSent) {
  EXPECT_EQ(text_of(carried(example()).value()), text_of(example()));
}

TEST(GatewayChannel, WhatAProgramChoseCannotKeepAnEntryFromTheLog) {
  NetworkEntry entry = example();
  entry.path = std::string(100'000, 'a');
  entry.host = "a\x1b[2J\n\xff";
  entry.method = std::string("G\0T", 3);
  const NetworkEntry arrived = carried(entry).value();
  EXPECT_EQ(arrived.path.size(), 1024u);
  EXPECT_EQ(arrived.host, "a?[2J??");
  EXPECT_EQ(arrived.method, "G?T");
  entry.path = std::string(1023, 'a') + "ä";  // cut in the middle of a character
  EXPECT_EQ(carried(entry).value().path.size(), 1024u);
}

TEST(GatewayChannel, EntriesThatAreNoneAreRefused) {
  auto refused = [](auto change) {
    std::string text = text_of(example());
    change(text);
    wire::Reader in(text);
    return !decode_entry(in).has_value();
  };
  EXPECT_FALSE(refused([](std::string&) {}));
  const size_t host = text_of(example()).find("example.org");
  EXPECT_TRUE(refused([&](std::string& text) { text[host] = '\n'; }));
  EXPECT_TRUE(refused([&](std::string& text) { text[host] = '\xff'; }));
  EXPECT_TRUE(refused([&](std::string& text) { text.resize(host); }));
  constexpr size_t kStage = 8 + 2 + 8;  // behind the sandbox and the connection
  EXPECT_TRUE(refused([&](std::string& text) { text[kStage] = 99; }));
  EXPECT_TRUE(refused([&](std::string& text) { text[kStage + 8] = 99; }));
  EXPECT_TRUE(refused([&](std::string& text) { text.back() = '\x80'; }));
}

TEST(GatewayChannel, SettingsArriveAsTheyWereSent) {
  wire::Writer out;
  encode(out, GatewaySettings{.resolvers = {"192.0.2.1:53"}, .connections = 5, .upstream_ca = "PEM"});
  wire::Reader in(out.data());
  const GatewaySettings settings = decode_settings(in).value();
  EXPECT_EQ(settings.resolvers, std::vector<std::string>{"192.0.2.1:53"});
  EXPECT_EQ(settings.connections, 5u);
  EXPECT_EQ(settings.upstream_ca, "PEM");
  wire::Reader cut(std::string_view(out.data()).substr(0, 30));
  EXPECT_FALSE(decode_settings(cut));
}

}  // namespace
}  // namespace cove::net
