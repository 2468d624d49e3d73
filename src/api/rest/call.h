#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "api/rest/api.h"
#include "api/rest/idempotency.h"
#include "api/rest/problem.h"
#include "api/rest/request_json.h"
#include "api/rest/upload.h"
#include "auth/caller.h"

namespace cove::api {

// One request of somebody who may make it.
struct Call {
  Call(Api& with_api, http::Exchange& with_exchange, Caller with_caller)
      : api(with_api), exchange(with_exchange), caller(std::move(with_caller)) {}

  Api& api;
  http::Exchange& exchange;
  Caller caller;

  engine::Engine& engine() { return api.engine; }
  engine::Service& service() { return *api.service; }
  const http::Request& request() const { return exchange.request(); }
  // What the route's pattern captured.
  const std::string& captured(const std::string& name) const;
  const std::string& sandbox() const { return captured("id"); }

  // The body as a JSON object; {} where there is none.
  Checked<Json> body();
  // The body, in a file.
  struct Received {
    int file;
    std::string digest;
  };
  Checked<Received> upload();
  Checked<UniqueFd> take_upload();
  // With an Idempotency-Key, the answer is kept before it is sent.
  Outcome respond(int status, std::string_view json, http::Headers headers = {});
  // An answer with secrets, which are shown this once: what is kept has null in place of these fields.
  Outcome respond_secret(int status, Json document, std::initializer_list<const char*> secrets);
  Outcome no_content();

  Once* once = nullptr;  // while a request with an Idempotency-Key is handled

 private:
  Outcome send(int status, std::string_view json, http::Headers headers);

  std::optional<Json> body_;
  std::optional<Upload> upload_;
};

using Handle = Outcome (*)(Call&);

// Which credentials open a route, beside keys and the Unix socket.
enum class Admits {
  Keys,       // none
  Tokens,     // tokens of the sandbox, too
  Signatures  // these, and signed URLs
};
struct Door {
  Scope scope = Scope::Read;
  Admits admits = Admits::Keys;
};
inline constexpr Door kRead{Scope::Read, Admits::Keys};
inline constexpr Door kRun{Scope::Run, Admits::Keys};
inline constexpr Door kManage{Scope::Manage, Admits::Keys};
inline constexpr Door kApprove{Scope::Approve, Admits::Keys};
inline constexpr Door kSecrets{Scope::Secrets, Admits::Keys};
inline constexpr Door kAdmin{Scope::Admin, Admits::Keys};
inline constexpr Door kTokenRead{Scope::Read, Admits::Tokens};
inline constexpr Door kTokenRun{Scope::Run, Admits::Tokens};
inline constexpr Door kSignedRead{Scope::Read, Admits::Signatures};
inline constexpr Door kSignedRun{Scope::Run, Admits::Signatures};

// Whether If-Match and If-None-Match are looked at by the handler, or refused.
enum class Conditions { Refused, Honoured };

// Adds routes whose handlers are called for those who may.
class Routes {
 public:
  Routes(Api& api, http::Router& router) : api_(api), router_(router) {}
  // A POST that makes something takes an Idempotency-Key: its `repeat` is not Again.
  // `query` are the parameters that it takes ("label*": more than once); others are refused.
  void add(const char* method, const char* pattern, Door door, Handle handle,
           std::initializer_list<std::string_view> query = {}, Conditions conditions = Conditions::Refused,
           Repeat repeat = Repeat::Again);
  // For everybody.
  void add_open(const char* method, const char* pattern, Outcome (*handle)(Api&, http::Exchange&));

 private:
  Api& api_;
  http::Router& router_;
};

// One for each file of handlers.
void add_sandboxes(Routes& routes);
void add_lifecycle(Routes& routes);
void add_tokens(Routes& routes);
void add_execs(Routes& routes);
void add_contexts(Routes& routes);
void add_exec_input(Routes& routes);
void add_attach(Routes& routes);
void add_sessions(Routes& routes);
void add_execute(Routes& routes);
void add_networks(Routes& routes);
void add_files(Routes& routes);
void add_entries(Routes& routes);
void add_archive(Routes& routes);
void add_watch(Routes& routes);
void add_keys(Routes& routes);
void add_secrets(Routes& routes);
void add_ports(Routes& routes);
void add_projects(Routes& routes);
void add_events(Routes& routes);
void add_usage(Routes& routes);
void add_images(Routes& routes);
void add_operations(Routes& routes);
void add_languages(Routes& routes);
void add_machine(Routes& routes);
void add_health(Routes& routes);
void add_metrics(Routes& routes);

}  // namespace cove::api
