#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/exchange.h"
#include "store/records.h"

// Checked parameters of a request's query. Errors are Invalid and name the parameter.
namespace cove::api {

// That the request has no other parameters than these, and each once ("label*": more often, too).
Result<void> check_query(const http::Request& request, std::span<const std::string_view> known);

Result<bool> flag_parameter(const http::Request& request, const std::string& name);  // false where it is not there
Result<std::optional<int64_t>> integer_parameter(const http::Request& request, const std::string& name, int64_t lowest,
                                                 int64_t highest);
std::string text_parameter(const http::Request& request, const std::string& name);  // empty where it is not there

// A point in time as RFC 3339 has it, in milliseconds since 1970.
Result<std::optional<int64_t>> time_parameter(const http::Request& request, const std::string& name);

// type=, sandbox=, session=, agent=, since= and until= of events and of what is added up from them.
Result<EventFilter> event_filter(const http::Request& request);

// limit=1..`most`.
Result<size_t> limit_parameter(const http::Request& request, size_t usual = 100, size_t most = 1000);
// path=, which must be there.
Result<std::string> path_parameter(const http::Request& request);
// A path inside a sandbox: neither empty nor longer than the kernel takes.
Result<std::string> check_path(std::string path);
// mode=0644.
Result<std::optional<unsigned>> mode_parameter(const http::Request& request);
// "644" or "0644": three or four octal digits.
Result<unsigned> parse_mode(const std::string& text);

// Whether the caller would rather have this media type than JSON: it is named in Accept.
bool accepts(const http::Request& request, std::string_view type);
// Whether Accept rules it out.
bool refuses(const http::Request& request, std::string_view type);

}  // namespace cove::api
