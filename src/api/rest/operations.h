#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "api/rest/problem.h"
#include "api/rest/response_json.h"
#include "image/image_progress.h"

namespace cove::api {

// Long work that goes on when whoever asked for it has gone.
class Operation {
 public:
  enum class State { Running, Succeeded, Failed };

  Operation(std::string with_kind, std::string with_target, std::string with_project);
  const std::string id;
  const std::string kind;    // "pull"
  const std::string target;  // of what: an image's name
  const std::string project;
  ImageProgress progress;

  State state() const;
  Json json() const;
  void finish(Checked<Json> outcome);
  // Until it has ended, or time is up.
  bool wait(std::chrono::milliseconds patience) const;
  Checked<Json> outcome() const;

 private:
  const int64_t started_ms_;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  std::optional<Checked<Json>> outcome_;
  int64_t ended_ms_ = 0;
};

// All of them that run, and the last that have ended. They end with the server. Thread-safe.
class Operations {
 public:
  ~Operations() { stop(); }
  using Work = std::function<Checked<Json>(Operation& operation)>;
  // 429 where too many run.
  Checked<std::shared_ptr<Operation>> start(std::string kind, std::string target, std::string project, Work work);
  std::shared_ptr<Operation> find(const std::string& id) const;
  // Calls all of them off, and waits for their end.
  void stop();

 private:
  struct Running {
    std::shared_ptr<Operation> operation;
    std::thread thread;
  };
  void forget_old();

  mutable std::mutex mutex_;
  std::list<Running> all_;
  bool stopping_ = false;
};

}  // namespace cove::api
