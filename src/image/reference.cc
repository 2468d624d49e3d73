#include "image/reference.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/text.h"

namespace cove {
namespace {

constexpr size_t kLongestName = 255;
constexpr size_t kLongestTag = 128;
constexpr std::string_view kDigestKind = "sha256:";
constexpr size_t kDigestDigits = 64;
constexpr const char* kDockerHubAddress = "registry-1.docker.io";

bool is_small(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_word(char c) { return is_small(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

std::unexpected<Error> wrong(std::string_view text, std::string_view why) {
  return fail(Error(Code::Invalid, concat("'", text.substr(0, kLongestName), "' is not a valid image name: ", why))
                  .hint("write [REGISTRY/]NAME[:TAG] or [REGISTRY/]NAME@sha256:DIGEST"));
}

// Letters and digits, separated by single dots, one or two underscores, or hyphens.
bool is_component(std::string_view text) {
  if (text.empty() || !is_small(text.front()) || !is_small(text.back())) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_small(text[i]) || text[i] == '-') continue;
    size_t end = i;
    while (end < text.size() && text[end] == text[i]) ++end;
    size_t most = text[i] == '_' ? 2 : text[i] == '.' ? 1 : 0;
    if (end - i > most || !is_small(text[end])) return false;
    i = end - 1;
  }
  return true;
}

bool is_repository(std::string_view text) {
  if (text.empty() || text.size() > kLongestName) return false;
  return std::ranges::all_of(split(text, '/'), [](const std::string& part) { return is_component(part); });
}

bool is_tag(std::string_view text) {
  return !text.empty() && text.size() <= kLongestTag && is_word(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

bool is_port(std::string_view text) { return parse_integer(text, 1, 65535).has_value(); }

bool is_label(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::ranges::all_of(text, [](char c) { return (is_word(c) && c != '_') || c == '-'; });
}

bool is_host(std::string_view text) {
  return std::ranges::all_of(split(text, '.'), [](const std::string& part) { return is_label(part); });
}

bool is_address(const std::string& text) {
  in6_addr address;
  return text.find('\0') == text.npos && ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

// A name or an address, with or without a port.
bool is_registry(std::string_view text) {
  if (text.size() > kLongestName) return false;
  if (text.starts_with('[')) {
    size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    std::string_view rest = text.substr(end + 1);
    return is_address(std::string(text.substr(1, end - 1))) &&
           (rest.empty() || (rest.starts_with(':') && is_port(rest.substr(1))));
  }
  size_t colon = text.find(':');
  return is_host(text.substr(0, colon)) && (colon == std::string_view::npos || is_port(text.substr(colon + 1)));
}

ImageReference in_library(ImageReference reference) {
  if (reference.registry == kDockerHub && reference.repository.find('/') == std::string::npos)
    reference.repository = concat("library/", reference.repository);
  return reference;
}

bool names_registry(std::string_view first) {
  return first.find_first_of(".:[") != std::string_view::npos || first == "localhost";
}

}  // namespace

bool is_hex_key(std::string_view text) {
  return text.size() == kDigestDigits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_digest(std::string_view text) {
  return text.starts_with(kDigestKind) && is_hex_key(text.substr(kDigestKind.size()));
}

std::string digest_hex(std::string_view digest) { return std::string(digest.substr(kDigestKind.size())); }

Result<ImageReference> parse_reference(std::string_view text) {
  ImageReference reference;
  std::string_view rest = text;
  if (size_t scheme = rest.find("://"); scheme != std::string_view::npos)
    return wrong(text, concat("remove '", rest.substr(0, scheme), "://'"));
  if (size_t at = rest.find('@'); at != std::string_view::npos) {
    reference.digest = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!is_digest(reference.digest)) return wrong(text, "the @ must be followed by sha256: and 64 hexadecimal digits");
  }
  size_t slash = rest.find('/');
  if (slash != std::string_view::npos && names_registry(rest.substr(0, slash))) {
    reference.registry = rest.substr(0, slash);
    rest = rest.substr(slash + 1);
    if (!is_registry(reference.registry)) return wrong(text, concat("'", reference.registry, "' is not a registry"));
  }
  if (size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
    reference.tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!is_tag(reference.tag)) return wrong(text, "a tag has up to 128 letters, digits, '_', '.' and '-'");
  }
  reference.repository = rest;
  if (!is_repository(rest))
    return wrong(text, "a name has lowercase letters and digits, separated by '.', '_', '-' and '/'");
  if (reference.tag.empty() && reference.digest.empty()) reference.tag = "latest";
  return reference;
}

std::string to_text(const ImageReference& reference) {
  std::string text =
      reference.registry.empty() ? reference.repository : concat(reference.registry, "/", reference.repository);
  if (!reference.tag.empty()) text += concat(":", reference.tag);
  if (!reference.digest.empty()) text += concat("@", reference.digest);
  return text;
}

Result<ImageReference> complete_reference(ImageReference reference, const std::string& usual) {
  if (!reference.registry.empty()) return in_library(std::move(reference));
  if (usual.empty())
    return fail(
        Error(Code::Invalid, concat("'", to_text(reference), "' names no registry, and no default is configured"))
            .hint("write REGISTRY/NAME, or set images.registry in the server's configuration"));
  size_t slash = usual.find('/');
  reference.registry = usual.substr(0, slash);
  if (slash != std::string::npos && reference.repository.find('/') == std::string::npos)
    reference.repository = concat(usual.substr(slash + 1), "/", reference.repository);
  if (!is_registry(reference.registry) || !is_repository(reference.repository))
    return fail(Error(Code::Invalid, concat("'", usual, "' is not a registry"))
                    .hint("images.registry is HOST[:PORT][/FOLDER]"));
  return in_library(std::move(reference));
}

ImageReference source_of(ImageReference reference, const std::string& docker_hub_mirror) {
  if (reference.registry != kDockerHub) return reference;
  reference.registry = docker_hub_mirror.empty() ? kDockerHubAddress : docker_hub_mirror;
  return reference;
}

bool is_loopback(std::string_view registry) {
  if (registry.starts_with("[::1]")) return true;
  std::string_view host = registry.substr(0, registry.find(':'));
  if (host == "localhost") return true;
  if (!host.starts_with("127.")) return false;
  std::vector<std::string> parts = split(host, '.');
  return parts.size() == 4 &&
         std::ranges::all_of(parts, [](const std::string& part) { return parse_integer(part, 0, 255).has_value(); });
}

}  // namespace cove
