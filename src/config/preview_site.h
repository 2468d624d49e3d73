#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/sandbox.h"

namespace cove {

// Where previews are: each port of each sandbox has a host name of its own, and so is an origin of its own.
//
//   http://3000-k3x….localhost:7070/
struct PreviewSite {
  std::string domain = "localhost";
  std::string scheme;  // empty: not known
  uint16_t port = 0;   // 0: that of the scheme

  bool reachable() const { return !scheme.empty(); }
  bool operator==(const PreviewSite&) const = default;
};

// "localhost", "preview.example.org", "https://preview.example.org", "https://preview.example.org:8443"; Invalid.
Result<PreviewSite> parse_preview_site(std::string_view text);
std::string to_text(const PreviewSite& site);

struct PreviewName {
  uint16_t port = 0;
  std::string sandbox;  // its id
  bool operator==(const PreviewName&) const = default;
};
// Of a Host header, with any port. Nothing where it is no preview's.
std::optional<PreviewName> parse_preview_host(const PreviewSite& site, std::string_view host);

// "3000-k3x….localhost:7070", without the usual port of the scheme.
std::string preview_authority(const PreviewSite& site, const PreviewName& name);
// "http://3000-k3x….localhost:7070/"; the site is reachable.
std::string preview_url(const PreviewSite& site, const PreviewName& name);

// COVE_PREVIEW_URL, with {port} for the port; nothing where previews cannot be reached.
void tell_preview_url(Environment& env, const PreviewSite& site, const std::string& sandbox);

}  // namespace cove
