#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "net/groups.h"
#include "net/rule.h"

namespace cove::net {
namespace {

using Hosts = std::vector<std::string>;

constexpr size_t kMostHosts = 64;  // of one image and group

void add(Hosts& hosts, const std::string& host) {
  if (hosts.size() < kMostHosts && std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
}

// The host of an http(s) address as a rule, or nothing.
std::string host_of(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == url.npos || !url.substr(0, scheme).starts_with("http")) return "";
  std::string_view place = url.substr(scheme + 3);
  place = place.substr(0, place.find_first_of("/?#"));
  if (size_t user = place.rfind('@'); user != place.npos) place.remove_prefix(user + 1);
  Result<Rule> rule = parse_rule(place);
  const bool is_host =
      rule && !rule->reads_requests() && (rule->kind == Rule::Kind::Name || rule->kind == Rule::Kind::Network);
  return is_host ? to_text(*rule) : "";
}

void add_url(Hosts& hosts, std::string_view url) {
  if (std::string host = host_of(url); !host.empty()) add(hosts, host);
}

std::vector<std::string> words(std::string_view line) {
  std::string spaced(line);
  std::ranges::replace(spaced, '\t', ' ');
  std::vector<std::string> all = split(spaced, ' ');
  std::erase(all, "");
  return all;
}

std::string_view unquoted(std::string_view value) {
  const bool quoted =
      value.size() >= 2 && value.front() == value.back() && (value.front() == '"' || value.front() == '\'');
  return quoted ? value.substr(1, value.size() - 2) : value;
}

// --- apt ------------------------------------------------------------------------------------------------------------

// deb [options] URI suite components
void take_one_line(Hosts& hosts, std::string_view line) {
  const std::vector<std::string> pieces = words(line);
  if (pieces.size() < 2 || (pieces[0] != "deb" && pieces[0] != "deb-src")) return;
  for (size_t i = 1, in_options = 0; i < pieces.size(); ++i) {
    if (pieces[i].starts_with('[')) in_options = 1;
    if (!in_options) return add_url(hosts, pieces[i]);
    if (pieces[i].ends_with(']')) in_options = 0;
  }
}

// A paragraph of "Field: value" lines, which continue where the next one begins with a space.
struct Paragraph {
  std::string field;
  bool enabled = true;
  Hosts hosts;

  void take(std::string_view line) {
    const bool continued = line.starts_with(' ') || line.starts_with('\t');
    const size_t colon = line.find(':');
    if (!continued) {
      field = lower(trim(line.substr(0, colon)));
      line.remove_prefix(colon == line.npos ? line.size() : colon + 1);
    }
    if (field == "enabled") enabled = enabled && lower(trim(line)) != "no";
    if (field != "uris") return;
    for (const std::string& url : words(line)) add_url(hosts, url);
  }
  void end(Hosts& all) {
    if (enabled)
      for (const std::string& host : hosts) add(all, host);
    *this = {};
  }
};

void add_debian(Hosts& hosts, const ImageFiles& image) {
  const std::string folder = "/etc/apt/sources.list.d";
  std::vector<std::string> files = {"/etc/apt/sources.list"};
  for (const std::string& name : image.list(folder))
    if (name.ends_with(".list") || name.ends_with(".sources")) files.push_back(concat(folder, "/", name));
  for (const std::string& file : files)
    if (Result<std::string> text = image.read(file))
      for (const std::string& host : hosts_of_apt_sources(*text)) add(hosts, host);
}

// --- npm ------------------------------------------------------------------------------------------------------------

// The key and the value of a line of an npmrc file; an empty key for others.
struct Setting {
  std::string key;
  std::string_view value;
};
Setting setting_of(std::string_view line) {
  line = trim(line);
  const size_t equals = line.find('=');
  if (line.starts_with('#') || line.starts_with(';') || equals == line.npos) return {};
  return {lower(unquoted(trim(line.substr(0, equals)))), unquoted(trim(line.substr(equals + 1)))};
}

bool names_registry(std::string_view npmrc) {
  return std::ranges::any_of(split(npmrc, '\n'), [](const std::string& line) {
    const Setting setting = setting_of(line);
    return setting.key == "registry" && !host_of(setting.value).empty();
  });
}

void add_node(Hosts& hosts, const ImageFiles& image) {
  bool named = false;
  for (const char* file : {"/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc", "/root/.npmrc",
                           "/usr/lib/node_modules/npm/npmrc", "/usr/local/lib/node_modules/npm/npmrc"}) {
    Result<std::string> text = image.read(file);
    if (!text) continue;
    named = named || names_registry(*text);
    for (const std::string& host : hosts_of_npmrc(*text)) add(hosts, host);
  }
  if (named) return;
  for (const char* folder :
       {"/usr/lib/node_modules/npm/node_modules", "/usr/local/lib/node_modules/npm/node_modules", "/usr/share/nodejs"})
    if (Result<std::string> text = image.read(concat(folder, "/@npmcli/config/lib/definitions/definitions.js")))
      for (const std::string& host : hosts_of_npm_definitions(*text)) add(hosts, host);
}

}  // namespace

std::vector<std::string> hosts_of_npmrc(std::string_view text) {
  Hosts hosts;
  for (const std::string& line : split(text, '\n')) {
    const Setting setting = setting_of(line);
    if (setting.key == "registry" || setting.key.ends_with(":registry")) add_url(hosts, setting.value);
  }
  return hosts;
}

std::vector<std::string> hosts_of_npm_definitions(std::string_view text) {
  Hosts hosts;
  size_t at = text.find("('registry',");
  if (at == text.npos) return hosts;
  text = text.substr(at, text.find("})", at) - at);
  at = text.find("default:");
  if (at == text.npos) return hosts;
  const std::string_view value = trim(text.substr(at + 8, text.find(",", at) - at - 8));
  add_url(hosts, value.size() > 2 ? value.substr(1, value.size() - 2) : value);
  return hosts;
}

std::vector<std::string> hosts_of_apt_sources(std::string_view text) {
  Hosts hosts;
  Paragraph paragraph;
  for (const std::string& line : split(text, '\n')) {
    const std::string_view plain = trim(line);
    if (plain.empty()) paragraph.end(hosts);
    if (plain.empty() || plain.starts_with('#')) continue;
    take_one_line(hosts, plain);
    paragraph.take(line);
  }
  paragraph.end(hosts);
  return hosts;
}

std::vector<std::string> image_hosts(const Group& group, const ImageFiles& image) {
  Hosts hosts;
  if (std::string_view(group.name) == "debian") add_debian(hosts, image);
  if (std::string_view(group.name) == "node") add_node(hosts, image);
  return hosts;
}

}  // namespace cove::net
