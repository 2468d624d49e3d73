#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/event_stream.h"
#include "client/http.h"
#include "client/input_channel.h"
#include "client/json.h"
#include "client/target.h"
#include "client/websocket.h"

namespace cove::client {

struct SandboxQuery {
  std::string state;
  std::string name;
  std::vector<std::string> labels;  // KEY=VALUE
};

struct ExecQuery {
  std::string state;
  std::string tag;
};

struct SessionQuery {
  std::string agent;
  std::string scope;
  std::string state;
};

// A path in a sandbox, as one of its users sees it.
struct Place {
  std::string sandbox;
  std::string path;
  std::string user;  // empty: the sandbox's
};

enum class Depth { One, Recursive };
enum class Parents { MustExist, Make };

// What is to be sent as a file.
struct Upload {
  int file = -1;
  std::optional<uint64_t> size;     // none: until its end
  std::optional<std::string> data;  // in place of a file
  std::string mode;                 // "0644"; empty: as it was, or 0644
  Progress progress;
};

// The operations of api/openapi.yaml, one call each. `sandbox` is an id or a name. Blocking; one thread; one request at
// a time: a stream that was opened is over when the next call is made.
class Api {
 public:
  explicit Api(Http http) : http_(std::move(http)) {}
  const Http& http() const { return http_; }
  Http& http() { return http_; }
  // How long the server may be silent; negative: for ever.
  void set_patience(std::chrono::milliseconds patience) { http_.set_patience(patience); }

  Result<Json> create(const Json& order);
  // One that lives as long as the stream: the first event has it, and no other follows.
  Result<EventStream> create_held(const Json& order);
  Result<Json> sandbox(const std::string& sandbox);
  Result<std::vector<Json>> sandboxes(const SandboxQuery& query);
  Result<Json> update(const std::string& sandbox, const Json& patch);
  // "start", "stop", "pause", "resume" or "renew".
  Result<Json> act(const std::string& sandbox, std::string_view verb, const Json& order = Json::object());
  Result<void> remove(const std::string& sandbox);
  Result<Json> stats(const std::string& sandbox);

  Result<std::vector<Json>> ports(const std::string& sandbox);
  Result<Json> update_port(const std::string& sandbox, uint16_t port, const Json& patch);
  // {scopes} | {file} | {port}, and ttl.
  Result<Json> create_token(const std::string& sandbox, const Json& order);
  // A connection of its own to a port of the sandbox; what is unread of it came from there, too.
  Result<std::unique_ptr<Connection>> connect_port(const std::string& sandbox, uint16_t port) const;

  Result<Json> exec(const std::string& sandbox, const Json& order);
  // Its output as it comes: stdout, stderr, result, error, exit.
  Result<EventStream> follow_exec(const std::string& sandbox, const Json& order);
  Result<Json> find_exec(const std::string& sandbox, const std::string& exec);
  Result<std::vector<Json>> execs(const std::string& sandbox, const ExecQuery& query);
  Result<Json> kill_exec(const std::string& sandbox, const std::string& exec);
  Result<void> signal_exec(const std::string& sandbox, const std::string& exec, const Json& order);
  Result<void> resize_exec(const std::string& sandbox, const std::string& exec, const Json& size);
  // One portion: {chunks, next, ended, result}.
  Result<Json> output(const std::string& sandbox, const std::string& exec, uint64_t from);
  Result<EventStream> follow_output(const std::string& sandbox, const std::string& exec, uint64_t from);
  InputChannel open_input(const std::string& sandbox, const std::string& exec) const;
  Result<WebSocket> attach(const std::string& sandbox, const std::string& exec, uint64_t from);

  Result<Json> network(const std::string& sandbox);                      // the policy in force
  Result<Json> network_log(const std::string& sandbox, uint64_t after);  // one portion: {items, next, last_seq}
  Result<EventStream> follow_network_log(const std::string& sandbox, uint64_t after);
  Result<Json> check_network(const std::string& sandbox, const std::string& host, const std::string& port);
  Result<Json> learned_rules(const std::string& sandbox);
  Result<std::vector<Json>> network_requests(const std::string& sandbox);
  Result<Json> decide_network_request(const std::string& sandbox, const Json& order);

  Result<Json> create_context(const std::string& sandbox, const Json& order);
  Result<std::vector<Json>> contexts(const std::string& sandbox);
  Result<void> interrupt_context(const std::string& sandbox, const std::string& context);
  Result<void> remove_context(const std::string& sandbox, const std::string& context);

  Result<Json> start_session(const Json& order);
  Result<Json> session(const std::string& session);
  Result<std::vector<Json>> sessions(const SessionQuery& query);
  Result<void> end_session(const std::string& session);
  Result<std::vector<Json>> session_execs(const std::string& session);
  Result<Json> session_exec(const std::string& session, const Json& order);
  // Its output as it comes: stdout, stderr, exit, error.
  Result<EventStream> follow_session_exec(const std::string& session, const Json& order);
  Result<Json> execute(const Json& order);
  // First `start`, then as above.
  Result<EventStream> follow_execute(const Json& order);

  Result<Json> entry(const Place& place);  // itself
  Result<std::vector<Json>> entries(const Place& place, int depth);
  Result<uint64_t> download(const Place& place, int file, const Progress& progress);
  // The head of the answer; the file is in body().
  Result<ResponseHead> open_file(const Place& place);
  Result<Json> upload(const Place& place, const Upload& upload);
  Result<void> remove_file(const Place& place, Depth depth);
  Result<Json> make_folder(const Place& place, const std::string& mode, Parents parents);
  Result<Json> move(const Place& from, const std::string& to);
  Result<Json> change_mode(const Place& place, const std::string& mode);
  // A folder as tar, in body().
  Result<void> open_archive(const Place& place);
  Result<Json> unpack(const Place& place, std::function<Result<void>(BodyWriter&)> produce, const Progress& progress);
  Result<EventStream> watch(const Place& place, Depth depth);
  Body& body() { return http_.body(); }

  Result<std::vector<Json>> images();
  Result<std::vector<Json>> languages();
  Result<Json> image(const std::string& image);
  Result<Json> pull_image(const Json& order);  // the operation
  Result<EventStream> follow_operation(const std::string& operation);
  Result<Json> load_images(std::function<Result<void>(BodyWriter&)> produce, const Progress& progress);
  Result<Json> import_image(const std::string& name, std::function<Result<void>(BodyWriter&)> produce,
                            const Progress& progress);
  Result<Json> tag_image(const std::string& image, const std::string& name);
  Result<Json> remove_image(const std::string& image, bool force);
  Result<Json> prune_images(bool all);
  Result<Json> verify_image(const std::string& image);

  struct EventFilter {
    std::vector<std::string> types;
    std::string sandbox;
    std::string session;
  };
  Result<Json> events(uint64_t after, const EventFilter& filter);  // one portion: {items, next, last_seq}
  Result<EventStream> follow_events(uint64_t after, const EventFilter& filter);
  Result<Json> create_key(const Json& order);
  Result<std::vector<Json>> keys();
  Result<void> revoke_key(const std::string& key);

  Result<Json> set_secret(const Json& order);
  Result<std::vector<Json>> secrets(const std::string& agent);  // empty: of all
  Result<void> remove_secret(const std::string& name, const std::string& agent);
  Result<void> rotate_secrets();
  Result<std::vector<Json>> settings();
  Result<Json> create_project(const Json& order);
  Result<Json> project(const std::string& project);
  Result<std::vector<Json>> projects();
  Result<Json> update_project(const std::string& project, const Json& patch);
  Result<void> remove_project(const std::string& project);

 private:
  Result<Json> ask(const std::string& method, const Target& target, const std::optional<Json>& body = {});
  Result<EventStream> follow(const std::string& method, const Target& target, const std::optional<Json>& body = {});
  Result<Json> send_archive(const Target& target, std::function<Result<void>(BodyWriter&)> produce,
                            const Progress& progress);
  Result<std::vector<Json>> all_pages(const Target& target, size_t limit = 1000);

  Http http_;
};

}  // namespace cove::client
