#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/preview_site.h"
#include "engine/sandbox_info.h"
#include "http/exchange.h"

// Who is let in to a preview: decided from what a request shows. Nothing here looks anything up.
namespace cove::api {

struct Shown {
  std::string bearer;                // a key or token: of Authorization, or X-API-Key
  std::string parameter;             // cove_token of the query
  std::vector<std::string> cookies;  // ours
  bool navigates = false;            // a browser shows a page: it can be sent on, and reads HTML
  bool foreign = false;              // a page of another origin made the browser ask, so its cookies say nothing
};
Shown shown_by(const http::Request& request, std::string_view origin);

// Whether one of these texts is a token for this port that is still valid; the time when it ends, else 0.
int64_t token_end(std::string_view secret, const std::string& text, const PreviewName& name,
                  const engine::PortRule& rule, int64_t now_ms);

}  // namespace cove::api
