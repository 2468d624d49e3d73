#pragma once

#include "api/rest/call.h"

// Who is asking. On the Unix socket the kernel says so, and whoever came in there is an administrator of all projects;
// credentials that are shown nevertheless count instead. Over TCP: a key, a token of one sandbox, a signed URL.
namespace cove::api {

// 401 where there are no credentials or wrong ones; 403 where they are right, but not for this route; 404 where the
// project that a local caller names does not exist.
Checked<Caller> authenticate(Api& api, http::Exchange& exchange, Admits admits);

// 403 where the caller's scopes do not cover it; that is an event, too.
Outcome authorize(Call& call, Scope scope);

// 403 where the caller is not at the Unix socket: for what reaches beyond one project.
Outcome require_local(const Call& call);

int64_t now_ms();

}  // namespace cove::api
