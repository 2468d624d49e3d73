#pragma once

#include <string>
#include <vector>

#include "http1/head.h"
#include "net/policy.h"

namespace cove::net {

// Whether the secret is for that server, by the rules of its hosts.
bool is_for(const BrokeredSecret& secret, const std::string& name, uint16_t port);

// The part of a request where placeholders may stand.
struct RequestHead {
  std::string target;  // in origin form, with its query
  http1::Headers headers;
};
// Puts the value in place of the placeholder where the secret names the place: in the named headers, within Basic after
// its base64 is decoded; and with the place "query" in values of the query, however they are percent-encoded. Whether
// there was any. A value that no header can have (with control characters) is put in only where it is encoded.
bool put_in(const BrokeredSecret& secret, RequestHead& head);

}  // namespace cove::net
