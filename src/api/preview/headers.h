#pragma once

#include <string>
#include <string_view>

#include "config/preview_site.h"
#include "http/exchange.h"
#include "http1/response.h"

// What changes of a request on its way into a sandbox, and of the answer on its way out. Nothing here touches a socket.
namespace cove::api {

inline constexpr std::string_view kTokenParameter = "cove_token";

// How a preview was reached.
struct Passage {
  PreviewName name;
  std::string scheme;     // as the browser sees it
  std::string authority;  // the Host header
};

enum class Sent { Nothing, Length, Chunked };  // how the body goes on
Sent body_of(const http::Request& request);
// The request asks for another protocol, as WebSocket does.
bool asks_to_switch(const http::Request& request);

// "/path?query" without our token.
std::string target_inside(const http::Request& request);

enum class Continue { Asked, NotAsked };  // whether the server inside is to say that it wants the body
// The whole head. What is for us stays here: keys, tokens and our cookie; so does what is for one connection only.
std::string head_inside(const http::Request& request, const Passage& passage, Continue asked);

// The headers for the browser, without those that follow from how the answer is sent.
http::Headers headers_outside(const http1::ResponseHead& head, const Passage& passage);

}  // namespace cove::api
