#include "config/preview_site.h"

#include <algorithm>

#include "base/text.h"

namespace cove {
namespace {

constexpr size_t kLongestLabel = 63;
constexpr size_t kLongestDomain = 180;  // with a label in front it is still a name
constexpr uint16_t kHttp = 80, kHttps = 443;

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_label(std::string_view label) {
  auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !label.empty() && label.size() <= kLongestLabel && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, plain);
}

// The last label of a name is no number: that would be an address.
bool is_domain(std::string_view domain) {
  const std::vector<std::string> labels = split(domain, '.');
  const bool address = labels.back().find_first_not_of("0123456789") == std::string::npos;
  return domain.size() <= kLongestDomain && !address && std::ranges::all_of(labels, is_label);
}

uint16_t usual_port(const PreviewSite& site) { return site.scheme == "https" ? kHttps : kHttp; }

// Without zeros in front: each name has one form.
std::optional<uint16_t> parse_port(std::string_view text) {
  auto number = parse_integer(text, 1, UINT16_MAX);
  if (!number || std::to_string(*number) != text) return std::nullopt;
  return static_cast<uint16_t>(*number);
}

std::string authority_of(const PreviewSite& site, std::string_view port, std::string_view sandbox) {
  std::string text = concat(port, "-", sandbox, ".", site.domain);
  return site.port == 0 || site.port == usual_port(site) ? text : concat(text, ":", site.port);
}

}  // namespace

Result<PreviewSite> parse_preview_site(std::string_view text) {
  auto refuse = [&] { return fail(Code::Invalid, concat("'", text, "' is not a domain for previews")); };
  PreviewSite site;
  std::string rest(text);
  std::ranges::transform(rest, rest.begin(), small);
  if (size_t mark = rest.find("://"); mark != std::string::npos) {
    site.scheme = rest.substr(0, mark);
    if (site.scheme != "http" && site.scheme != "https") return refuse();
    rest.erase(0, mark + 3);
  }
  if (size_t colon = rest.find(':'); colon != std::string::npos) {
    auto port = parse_port(std::string_view(rest).substr(colon + 1));
    if (!port || site.scheme.empty()) return refuse();
    site.port = *port;
    rest.erase(colon);
  }
  if (!is_domain(rest)) return refuse();
  site.domain = rest;
  return site;
}

std::string to_text(const PreviewSite& site) {
  std::string text = site.scheme.empty() ? site.domain : concat(site.scheme, "://", site.domain);
  return site.port == 0 ? text : concat(text, ":", site.port);
}

std::optional<PreviewName> parse_preview_host(const PreviewSite& site, std::string_view host) {
  std::string name(host.substr(0, host.find(':')));
  std::ranges::transform(name, name.begin(), small);
  size_t dot = name.find('.'), dash = name.find('-');
  if (dot == std::string::npos || dash == std::string::npos || dash > dot || name.substr(dot + 1) != site.domain)
    return std::nullopt;
  auto port = parse_port(std::string_view(name).substr(0, dash));
  std::string sandbox = name.substr(dash + 1, dot - dash - 1);
  if (!port || !is_label(sandbox)) return std::nullopt;
  return PreviewName{*port, std::move(sandbox)};
}

std::string preview_authority(const PreviewSite& site, const PreviewName& name) {
  return authority_of(site, std::to_string(name.port), name.sandbox);
}

std::string preview_url(const PreviewSite& site, const PreviewName& name) {
  return concat(site.scheme, "://", preview_authority(site, name), "/");
}

void tell_preview_url(Environment& env, const PreviewSite& site, const std::string& sandbox) {
  if (site.reachable())
    env.emplace_back("COVE_PREVIEW_URL", concat(site.scheme, "://", authority_of(site, "{port}", sandbox), "/"));
}

}  // namespace cove
