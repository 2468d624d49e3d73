#include "client/server.h"

#include <cstdlib>

#include "base/text.h"
#include "client/autostart.h"
#include "sys/own_folder.h"

namespace cove::client {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Denied where another user could have put a server of his there.
Result<Address> own_address() {
  Address address{Address::Kind::Unix, own_socket(), "", 0};
  COVE_TRY(sys::check_run_folder(address.path.substr(0, address.path.rfind('/'))));
  return address;
}

bool may_start() { return variable("COVE_AUTOSTART") != "0"; }

// Who is there: "Cove-Version: 0.2.0", or "Server: cove/0.2.0".
std::string version_of(const ResponseHead& head) {
  constexpr std::string_view kProduct = "cove/";
  std::string_view version = head.header("cove-version");
  std::string_view product = head.header("server");
  if (version.empty() && product.starts_with(kProduct)) version = product.substr(kProduct.size());
  return std::string(version.substr(0, version.find(' ')));
}

enum class ServerState { Good, Outdated };

// Only one that was started by itself is replaced: others have somebody who looks after them.
Result<ServerState> examine(Http& http) {
  Request request;
  request.target = "/v1/health/live";
  Response response = COVE_TRY(http.fetch(request));
  bool automatic = response.head.header("cove-auto") == "1";
  std::string version = version_of(response.head);
  bool older = !version.empty() && is_older(version, COVE_VERSION);
  return automatic && older ? ServerState::Outdated : ServerState::Good;
}

std::unexpected<Error> absent(Error error, const ServerChoice& choice) {
  if (choice.own) return fail(std::move(error).hint("cove serve starts it"));
  return fail(std::move(error).hint("COVE_HOST names that server: is it running?"));
}

// Others may have done it while the lock was waited for.
Result<void> start_once(Http& http) {
  UniqueFd lock = COVE_TRY(lock_start(http.address().path));
  if (http.connect()) return {};
  COVE_TRY(start_server(http.address().path));
  return http.connect();
}

Result<void> replace_once(Http& http) {
  UniqueFd lock = COVE_TRY(lock_start(http.address().path));
  Http again(http.address(), http.identity());
  Result<ServerState> standing = examine(again);
  if (standing && *standing == ServerState::Outdated) {
    COVE_TRY(stop_server(COVE_TRY(again.peer())));
    COVE_TRY(start_server(http.address().path));
  }
  return {};
}

}  // namespace

bool is_older(std::string_view version, std::string_view than) {
  std::vector<std::string> left = split(version, '.'), right = split(than, '.');
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    int64_t a = i < left.size() ? parse_integer(left[i], 0, INT32_MAX).value_or(-1) : 0;
    int64_t b = i < right.size() ? parse_integer(right[i], 0, INT32_MAX).value_or(-1) : 0;
    if (a != b) return a < b;
  }
  return false;
}

Result<ServerChoice> find_server() {
  ServerChoice choice;
  choice.identity = {variable("COVE_API_KEY"), variable("COVE_PROJECT")};
  std::string host = variable("COVE_HOST");
  choice.own = host.empty();
  if (choice.own)
    choice.address = COVE_TRY(own_address());
  else
    choice.address = COVE_TRY_NOTE("COVE_HOST", parse_address(host));
  return choice;
}

bool seems_outdated(const Http& http) {
  const Address& address = http.address();
  if (address.kind != Address::Kind::Unix || address.path != own_socket()) return false;
  return !http.server_version().empty() && is_older(http.server_version(), COVE_VERSION);
}

Result<bool> replace_if_outdated(Http& http) {
  http.set_patience(kPatience);
  bool outdated = COVE_TRY(examine(http)) == ServerState::Outdated;
  if (outdated) COVE_TRY(replace_once(http));
  http.set_patience(std::chrono::milliseconds(-1));
  return outdated;
}

Result<Http> connect_server(const ServerChoice& choice, WhenAbsent when_absent) {
  Http http(choice.address, choice.identity);
  Result<void> connected = http.connect();
  bool gone = !connected && connected.error().code() == Code::Unavailable;
  if (!connected && !gone) return fail(std::move(connected).error());
  if (gone && (!choice.own || when_absent == WhenAbsent::Fail || !may_start()))
    return absent(std::move(connected).error(), choice);
  if (gone) COVE_TRY(start_once(http));
  return http;
}

Result<Http> reach_server(const ServerChoice& choice, WhenAbsent when_absent) {
  Http http = COVE_TRY(connect_server(choice, when_absent));
  if (choice.own) COVE_TRY(replace_if_outdated(http));
  return http;
}

}  // namespace cove::client
