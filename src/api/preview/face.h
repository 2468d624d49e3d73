#pragma once

#include "api/rest/api.h"
#include "config/preview_site.h"

// Previews: servers in sandboxes, seen from outside. Each port of each sandbox has a host name of its own, which serves
// nothing else.
namespace cove::api {

// Whether the request is for a preview; then it has been answered.
bool serve_preview(Api& api, http::Exchange& exchange);

// For a listener that serves nothing else: tells what it is for.
void refuse_other_hosts(Api& api, http::Exchange& exchange);

}  // namespace cove::api
