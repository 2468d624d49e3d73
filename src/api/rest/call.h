#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "api/rest/api.h"
#include "api/rest/problem.h"
#include "api/rest/request_json.h"
#include "auth/caller.h"

namespace cove::api {

// One request of somebody who may make it.
struct Call {
  Api& api;
  http::Exchange& exchange;
  Caller caller;

  engine::Engine& engine() { return api.engine; }
  const http::Request& request() const { return exchange.request(); }
  // What the route's pattern captured.
  const std::string& captured(const std::string& name) const;
  const std::string& sandbox() const { return captured("id"); }

  // The body as a JSON object; {} where there is none.
  Checked<Json> body();
  Outcome respond(int status, std::string_view json, http::Headers headers = {});
  Outcome no_content();
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
  // `query` are the parameters that it takes ("label*": more than once); others are refused.
  void add(const char* method, const char* pattern, Door door, Handle handle,
           std::initializer_list<std::string_view> query = {}, Conditions conditions = Conditions::Refused);
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
void add_files(Routes& routes);
void add_entries(Routes& routes);
void add_archive(Routes& routes);
void add_watch(Routes& routes);
void add_keys(Routes& routes);
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
