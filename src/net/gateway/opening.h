#pragma once

#include <cstddef>
#include <string_view>

namespace cove::net {

// What a program inside begins a connection with.
enum class Opening {
  Unknown,  // more bytes are needed to tell
  Tls,      // for client_hello.h
  Http,     // a request, well formed or not
  Http2,    // the preface of HTTP/2 in cleartext
  Query,    // PostgreSQL's question for TLS: kQuerySize bytes, after whose answer the connection begins anew
  Other,
};

inline constexpr size_t kLongestFirstLine = 16 * 1024;
inline constexpr size_t kQuerySize = 8;

// Rather takes something for TLS or HTTP that is neither than the reverse: servers differ in what they accept (empty
// lines before a request, any version in the first record). Where the server has already sent something, it is
// neither an HTTP nor a TLS server, and only what clearly is one of them is taken for it.
enum class Server { Silent, Spoke };
Opening classify(std::string_view bytes, Server server);

}  // namespace cove::net
