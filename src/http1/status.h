#pragma once

#include <string>
#include <string_view>

namespace cove::http1 {

// "Not Found" for 404.
std::string_view reason_phrase(int status);
// "HTTP/1.1 404 Not Found".
std::string status_line(int status);

}  // namespace cove::http1
