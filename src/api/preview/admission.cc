#include "api/preview/admission.h"

#include "api/preview/cookies.h"
#include "api/preview/headers.h"
#include "auth/keys.h"
#include "base/ascii.h"
#include "base/text.h"

namespace cove::api {
namespace {

std::string bearer_of(const http::Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  std::string_view header = request.header("authorization").value_or("");
  if (same_word(header.substr(0, kScheme.size()), kScheme)) return std::string(trim(header.substr(kScheme.size())));
  return std::string(trim(request.header("x-api-key").value_or("")));
}

// Browsers say which page made them ask. A page may link to another origin, but not read or change it, or show it as a
// part of itself, with the visitor's rights.
bool is_foreign(const http::Request& request, std::string_view origin) {
  auto theirs = request.header("origin");
  if (theirs && !same_word(*theirs, origin)) return true;
  std::string_view site = request.header("sec-fetch-site").value_or("none");
  if (site == "same-origin" || site == "none") return false;
  return request.header("sec-fetch-mode").value_or("") != "navigate" ||
         request.header("sec-fetch-dest").value_or("") != "document" || request.method != "GET";
}

}  // namespace

Shown shown_by(const http::Request& request, std::string_view origin) {
  Shown shown;
  shown.bearer = bearer_of(request);
  shown.parameter = request.parameter(kTokenParameter).value_or("");
  for (const auto& [name, value] : request.headers)
    if (same_word(name, "cookie"))
      for (std::string& cookie : own_cookies(value)) shown.cookies.push_back(std::move(cookie));
  const bool looks = request.method == "GET" || request.method == "HEAD";
  const std::string_view mode = request.header("sec-fetch-mode").value_or("");
  const bool wants_page = request.header("accept").value_or("").contains("text/html");
  shown.navigates = looks && (mode.empty() ? wants_page : mode == "navigate");
  shown.foreign = is_foreign(request, origin);
  return shown;
}

int64_t token_end(std::string_view secret, const std::string& text, const PreviewName& name,
                  const engine::PortRule& rule, int64_t now_ms) {
  Result<PreviewToken> token = check_preview_token(secret, text, now_ms);
  const bool fits =
      token && token->sandbox_id == name.sandbox && token->port == name.port && token->generation == rule.generation;
  return fits ? token->expires_ms : 0;
}

}  // namespace cove::api
