#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Cookies of previews. The one that lets a browser in is never seen inside, and none reaches a neighbour.
namespace cove::api {

// Over TLS it begins with __Host-, which no other host can set.
inline constexpr std::string_view kPreviewCookie = "cove_preview";
inline constexpr std::string_view kSecurePreviewCookie = "__Host-cove_preview";

// Of a Cookie header: what the ones of ours say, each of which may be anyone's doing.
std::vector<std::string> own_cookies(std::string_view header);
// The header without them; empty where nothing is left.
std::string without_own_cookies(std::string_view header);

// A Set-Cookie header of a server inside, for its own host only: without Domain. Nothing where it would set ours.
std::optional<std::string> confined_cookie(std::string_view header);

}  // namespace cove::api
