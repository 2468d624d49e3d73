#include "runtime/docker/engine.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/encoding.h"
#include "base/text.h"
#include "client/http.h"
#include "runtime/docker/container_order.h"

namespace cove::docker {
namespace {

using client::field;
using client::text_of;

constexpr size_t kLargestAnswer = 64 << 20;
constexpr std::chrono::seconds kRemovalTimeout(20);
constexpr std::chrono::milliseconds kBetweenLooks(20);

constexpr int kNotFound = 404;
constexpr int kConflict = 409;

Code code_of(int status) {
  switch (status) {
    case 400:
      return Code::Invalid;
    case 403:
      return Code::Denied;
    case kNotFound:
      return Code::NotFound;
    case kConflict:
      return Code::Conflict;
    default:
      return Code::Unavailable;
  }
}

// {"message": …}, and Podman's {"cause": …, "message": …}.
Error refusal(int status, const std::string& body) {
  Result<Json> json = client::parse_json(body);
  std::string message = json ? text_of(*json, "message") : std::string(trim(body));
  return Error(code_of(status), message.empty() ? concat("the engine answered with ", status) : message);
}

bool is_image_name(const std::string& name) {
  return !name.empty() && name.size() <= 4096 && name.find("..") == name.npos && !name.starts_with('-') &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("._-/:@").find(c) != std::string_view::npos;
         });
}

std::string of_container(const std::string& id, std::string_view rest) { return concat("/containers/", id, rest); }

}  // namespace

Result<Engine::Answer> Engine::exchange(const std::string& method, const std::string& target,
                                        const std::optional<Json>& body) const {
  client::Address address{.kind = client::Address::Kind::Unix, .path = socket_};
  client::Connection connection = COVE_TRY(client::Connection::open(address));
  connection.set_patience(patience_);
  client::Request request{.method = method, .target = target, .headers = {{"Connection", "close"}}};
  if (body) {
    request.headers.push_back({"Content-Type", "application/json"});
    request.body = client::dump(*body);
  }
  COVE_TRY(connection.write(client::Http(address, {}).head_of(request) + request.body.value_or("")));
  client::ResponseHead head = COVE_TRY(client::receive_head(connection));
  client::Body answer = COVE_TRY(client::body_of(connection, head, method));
  return Answer{head.status, std::string(head.header("Server")), COVE_TRY(answer.read_all(kLargestAnswer))};
}

Result<Json> Engine::ask(const std::string& method, const std::string& target, const std::optional<Json>& body) const {
  Answer answer = COVE_TRY_NOTE(concat("call the engine at ", socket_), exchange(method, target, body));
  if (answer.status >= 400) return fail(refusal(answer.status, answer.body));
  if (answer.body.empty()) return Json();
  return client::parse_json(answer.body);
}

Result<std::string> Engine::identity() const {
  Answer pong = COVE_TRY_NOTE(concat("call the engine at ", socket_), exchange("GET", "/_ping", {}));
  return concat(socket_, " ", pong.server);
}

Result<EngineFacts> Engine::facts() const {
  std::string identity = COVE_TRY(this->identity());
  Json version = COVE_TRY(ask("GET", "/version"));
  EngineFacts facts = COVE_TRY(read_engine_facts(version, COVE_TRY(ask("GET", "/info"))));
  facts.identity = std::move(identity);
  return facts;
}

Result<ImageConfig> Engine::image(const std::string& name, const EngineFacts& facts) const {
  if (!is_image_name(name)) return fail(Code::Invalid, concat("'", name, "' is not a valid image name"));
  Result<Json> found = ask("GET", concat("/images/", name, "/json"));
  if (found) return read_image_config(*found);
  if (found.error().code() != Code::NotFound) return std::unexpected(found.error());
  return fail(
      Error(Code::NotFound,
            concat("the engine (", std::string_view(facts.title()), " at ", socket_, ") has no image '", name, "'"))
          .hint(concat("this runtime uses the engine's images: ", std::string_view(facts.program()), " pull ", name)));
}

Result<std::string> Engine::create(const std::string& name, const Json& order) const {
  Json made = COVE_TRY_NOTE("create the container", ask("POST", concat("/containers/create?name=", name), order));
  std::string id = text_of(made, "Id");
  if (id.empty()) return fail(Code::Internal, "create the container: the engine returned no id");
  return id;
}

Result<void> Engine::start(const std::string& id) const {
  COVE_TRY_NOTE("start the container", ask("POST", of_container(id, "/start")));
  return {};
}

Result<void> Engine::update(const std::string& id, const Json& order) const {
  COVE_TRY_NOTE("change the container's limits", ask("POST", of_container(id, "/update"), order));
  return {};
}

Result<Engine::State> Engine::state(const std::string& id) const {
  Json container = COVE_TRY(ask("GET", of_container(id, "/json")));
  const Json& state = field(container, "State");
  std::string why = text_of(state, "Error");
  return State{client::flag_of(state, "Running"),
               concat(text_of(state, "Status"), ", exit code ", client::count_of(state, "ExitCode"),
                      why.empty() ? "" : ": ", why)};
}

Result<std::vector<Container>> Engine::list(const std::vector<std::string>& labels) const {
  std::string filters = percent_encode(client::dump(Json{{"label", labels}}));
  Json listed = COVE_TRY_NOTE("list the containers", ask("GET", concat("/containers/json?all=true&filters=", filters)));
  std::vector<Container> found;
  for (const Json& each : listed) {
    const Json& its = field(each, "Labels");
    found.push_back({text_of(each, "Id"), text_of(its, kSandboxLabel), !text_of(its, kDiskLabel).empty()});
  }
  return found;
}

Result<void> Engine::stop(const std::string& id) const {
  // Ignores the error: a container that is not running cannot be killed.
  static_cast<void>(ask("POST", of_container(id, "/kill?signal=SIGKILL")));
  Result<Json> ended = ask("POST", of_container(id, "/wait?condition=not-running"));
  if (ended || ended.error().code() == Code::NotFound) return {};
  return fail(std::move(ended.error()).note("wait for the container's end"));
}

// An engine that is removing it at the same time refuses with various errors.
Result<void> Engine::remove(const std::string& id) const {
  auto until = std::chrono::steady_clock::now() + kRemovalTimeout;
  while (true) {
    Result<Json> removed = ask("DELETE", of_container(id, "?force=true&v=true"));
    if (removed || removed.error().code() == Code::NotFound) return {};
    if (std::chrono::steady_clock::now() > until) return fail(std::move(removed.error()).note("remove the container"));
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace cove::docker
