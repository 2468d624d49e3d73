#include "api/rest/idempotency.h"

#include "api/rest/auth.h"
#include "api/rest/call.h"
#include "api/rest/digest.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/sse.h"
#include "base/text.h"

namespace cove::api {
namespace {

constexpr size_t kLongestKey = 255;
// A larger answer is given, but not kept.
constexpr size_t kMostKept = 16 << 20;
constexpr std::chrono::milliseconds kTurn{100};

Checked<std::string> key_of(const http::Request& request) {
  auto key = request.header("idempotency-key");
  if (!key) return std::string();
  if (key->empty() || key->size() > kLongestKey)
    return invalid(concat("the Idempotency-Key must have 1 to ", kLongestKey, " characters"));
  if (accepts(request, kEventStream))
    return refuse(Problem(400, "invalid", "an Idempotency-Key cannot be used with an event stream, which is not kept")
                      .advise("leave the key out, or ask without Accept: text/event-stream"));
  return std::string(*key);
}

// However the JSON is written. What the caller may see and do is part of it: an answer is for callers like the first.
Checked<std::string> hash_of(Call& call, Repeat repeat) {
  std::string body;
  if (repeat == Repeat::OnceUpload)
    body = COVE_TRY(call.upload()).digest;
  else
    body = COVE_TRY(call.body()).dump_sorted();
  const http::Request& request = call.request();
  const char* face = call.caller.local ? "local" : "tcp";
  Digest digest;
  digest.update(concat(request.method, "\n", request.target, "\n", face, "\n", call.caller.only_sandbox, "\n", body));
  return digest.hex();
}

std::string headers_text(const http::Headers& headers) {
  Json json = Json::array();
  for (const auto& [name, value] : headers) json.push_back(Json::array({name, value}));
  return dump(json);
}

http::Headers headers_of(const std::string& text) {
  http::Headers headers;
  const Json json = Json::parse(text).value_or(Json::array());
  for (const Json& each : json) headers.emplace_back(each[0].get<std::string>(), each[1].get<std::string>());
  return headers;
}

Outcome replay(Call& call, const Idempotency& earlier) {
  http::Headers headers = headers_of(earlier.headers);
  headers.emplace_back("Idempotent-Replayed", "true");
  return call.respond(earlier.status, earlier.body, std::move(headers));
}

// What there is of an earlier try that has no answer: either the server ended, or the answer was too large.
std::unexpected<Problem> unfinished() {
  return refuse(Problem(409, "idempotency_unfinished",
                        "the request with this Idempotency-Key was begun before, and its answer is not known")
                    .advise("look at what it has done; use a new key to do it again"));
}

// Keeps a key claimed.
class Claim {
 public:
  Claim(OnceKeys& keys, OnceKeys::Key key) : keys_(keys), key_(std::move(key)) {}
  ~Claim() {
    if (held_) keys_.release(key_);
  }
  Claim(const Claim&) = delete;
  Outcome take(http::Exchange& exchange) {
    COVE_TRY(keys_.claim(key_, exchange));
    held_ = true;
    return {};
  }

 private:
  OnceKeys& keys_;
  OnceKeys::Key key_;
  bool held_ = false;
};

// The first request with its key, or another try of one that has left no answer.
Outcome handle_new(Call& call, Idempotency entry, Repeat repeat, Outcome (*handle)(Call&)) {
  Store& store = call.engine().store();
  if (repeat != Repeat::OnceRecorded) COVE_TRY(store.put_idempotency(entry));
  Once once(store, std::move(entry));
  call.once = &once;
  Outcome outcome = handle(call);
  call.once = nullptr;
  // What was refused or called off may be tried again.
  if (!once.settled()) COVE_TRY(store.forget_idempotency(once.entry().project, once.entry().key));
  return outcome;
}

}  // namespace

Outcome OnceKeys::claim(const Key& key, http::Exchange& exchange) {
  std::unique_lock lock(mutex_);
  while (claimed_.contains(key)) {
    if (released_.wait_for(lock, kTurn, [&] { return !claimed_.contains(key); })) break;
    lock.unlock();
    auto wake = exchange.wait(-1, std::chrono::milliseconds(0));
    if (wake != http::Exchange::Wake::Timeout)
      return refuse(503, "unavailable",
                    "the server stops while the first request with this Idempotency-Key is answered");
    lock.lock();
  }
  claimed_.insert(key);
  return {};
}

void OnceKeys::release(const Key& key) {
  {
    std::lock_guard lock(mutex_);
    claimed_.erase(key);
  }
  released_.notify_all();
}

Result<void> Once::note_made(std::string id) {
  entry_.made = std::move(id);
  return store_.put_idempotency(entry_);
}

Result<void> Once::keep(int status, const http::Headers& headers, std::string_view body) {
  answered_ = true;
  if (body.size() > kMostKept) return {};
  entry_.status = status;
  entry_.headers = headers_text(headers);
  entry_.body = body;
  return store_.put_idempotency(entry_);
}

Outcome answer_once(Call& call, Repeat repeat, Outcome (*handle)(Call&)) {
  Idempotency entry{.project = call.caller.project, .key = COVE_TRY(key_of(call.request())), .time_ms = now_ms()};
  if (entry.key.empty()) return handle(call);
  entry.request_hash = COVE_TRY(hash_of(call, repeat));
  Claim claim(call.api.once_keys, {entry.project, entry.key});
  COVE_TRY(claim.take(call.exchange));
  auto earlier = COVE_TRY(call.engine().store().find_idempotency(entry.project, entry.key));
  if (!earlier) return handle_new(call, std::move(entry), repeat, handle);
  if (earlier->request_hash != entry.request_hash)
    return refuse(Problem(409, "idempotency_mismatch", "this Idempotency-Key was used for another request")
                      .advise("use a new key for each new request"));
  if (earlier->status != 0) return replay(call, *earlier);
  if (earlier->made.empty()) return unfinished();
  return handle_new(call, std::move(*earlier), repeat, handle);
}

}  // namespace cove::api
