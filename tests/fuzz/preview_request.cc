// A request for a preview, as it goes on into the sandbox, and the same bytes as the answer of a server inside:
// whatever they are, one head comes of them, for the right host, and Cove's own secrets stay where they are.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "api/preview/admission.h"
#include "api/preview/cookies.h"
#include "api/preview/headers.h"
#include "base/ascii.h"
#include "http/request_parser.h"

namespace {

using namespace cove;
using namespace cove::api;

constexpr size_t kMostHead = 32 * 1024;
const Passage kPassage{{3000, "abc"}, "http", "3000-abc.localhost:7070"};

void require(bool held) {
  if (!held) std::abort();
}

void check_cookies(const http::Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (same_word(name, "cookie")) require(own_cookies(value).empty());
    if (same_word(name, "set-cookie")) require(own_cookies(value.substr(0, value.find(';'))).empty());
  }
}

// What is sent inside is read again as one request, by the rules of the listener.
void pass_in(const http::Request& request) {
  const std::string head = head_inside(request, kPassage, Continue::NotAsked);
  http::RequestParser again(4 * kMostHead);
  std::string_view rest = head;
  auto whole = again.parse_head(rest);
  require(whole && *whole && rest.empty());
  const http::Request& inside = again.head().request;
  require(inside.method == request.method && inside.header("host") == kPassage.authority);
  require(!inside.parameter(kTokenParameter));
  check_cookies(inside.headers);
  static_cast<void>(shown_by(request, "http://3000-abc.localhost:7070"));
}

void pass_out(std::string_view input) {
  http1::HeadReader reader(kMostHead);
  auto whole = reader.feed(input);
  if (!whole || !*whole) return;
  auto head = http1::parse_response_head(reader);
  if (!head) return;
  const http::Headers headers = headers_outside(*head, kPassage);
  check_cookies(headers);
  for (const char* name : {"content-length", "transfer-encoding", "connection", "alt-svc", "clear-site-data"})
    require(!http1::find_header(headers, name));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  pass_out(input);
  static_cast<void>(parse_preview_host(PreviewSite(), input));
  static_cast<void>(parse_preview_site(input));
  http::RequestParser parser(kMostHead);
  std::string_view rest = input;
  auto whole = parser.parse_head(rest);
  if (whole && *whole) pass_in(parser.head().request);
  return 0;
}
