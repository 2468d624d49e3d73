#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "api/rest/problem.h"
#include "http/exchange.h"
#include "store/store.h"

// Idempotency-Key: a request that is sent again is answered again, and not done again.
namespace cove::api {

struct Call;

// The keys, each of a project, that are being worked on. Thread-safe.
class OnceKeys {
 public:
  using Key = std::pair<std::string, std::string>;
  // Waits for whoever has the key. 503 where the caller goes meanwhile, or the server stops.
  Outcome claim(const Key& key, http::Exchange& exchange);
  void release(const Key& key);

 private:
  std::mutex mutex_;
  std::condition_variable released_;
  std::set<Key> claimed_;
};

// What is on record of one request with a key, while it is handled.
class Once {
 public:
  Once(Store& store, Idempotency entry) : store_(store), entry_(std::move(entry)), made_before_(entry_.made) {}

  // The id of what an earlier try has made that has given no answer; empty where there is none.
  const std::string& made_before() const { return made_before_; }
  // On record from now on: another try will not make it again.
  Result<void> note_made(std::string id);
  // Before the answer is sent.
  Result<void> keep(int status, const http::Headers& headers, std::string_view body);
  // Whether another try is not to do it again: it was answered, or what it made goes on.
  bool settled() const { return answered_ || !entry_.made.empty(); }
  const Idempotency& entry() const { return entry_; }

 private:
  Store& store_;
  Idempotency entry_;
  std::string made_before_;
  bool answered_ = false;
};

// Whether a route takes a key, and how its body is told from another.
enum class Repeat {
  Again,        // it takes none
  Once,         // JSON
  OnceUpload,   // anything: it is received into a file, which the handler takes
  OnceRecorded  // JSON; the engine records what it makes together with the key
};

// Calls the handler, or gives the answer that the same request was given before.
Outcome answer_once(Call& call, Repeat repeat, Outcome (*handle)(Call&));

}  // namespace cove::api
