#include "base/text.h"
#include "net/gateway/resolver.h"

namespace cove::net {

std::vector<std::string> servers_of_resolv_conf(std::string_view text) {
  constexpr size_t kMost = 3;
  std::vector<std::string> servers;
  for (const auto& line : split(text, '\n')) {
    std::string_view words = trim(line);
    constexpr std::string_view kKeyword = "nameserver";
    if (!words.starts_with(kKeyword) || words.size() == kKeyword.size()) continue;
    if (words[kKeyword.size()] != ' ' && words[kKeyword.size()] != '\t') continue;
    std::string_view server = trim(words.substr(kKeyword.size()));
    server = server.substr(0, server.find_first_of(" \t%#;"));
    if (!server.empty() && servers.size() < kMost) servers.emplace_back(server);
  }
  return servers;
}

}  // namespace cove::net
