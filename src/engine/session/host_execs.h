#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/host_runner.h"

namespace cove::engine {

// Commands of sessions that run on the host, so that they end with their session. Thread-safe; outlives what it
// watches.
class HostExecs {
  struct Entry {
    std::string session;
    int connection;
    HostProcess* process = nullptr;
    bool ended = false;  // the session
  };

 public:
  // While it lives, what is started for the connection is the session's. A connection has one call at a time.
  class Use {
   public:
    Use(HostExecs& execs, std::list<Entry>::iterator entry) : execs_(&execs), entry_(entry) {}
    Use(Use&& other) noexcept : execs_(std::exchange(other.execs_, nullptr)), entry_(other.entry_) {}
    Use& operator=(Use&&) = delete;
    ~Use();

   private:
    HostExecs* execs_;
    std::list<Entry>::iterator entry_;
  };
  Use use(std::string session, int connection);

  // The same runner, seen by this.
  std::unique_ptr<HostRunner> watch(std::unique_ptr<HostRunner> runner);

  // Kills what runs for the session; what is about to be started for it, is not.
  void end(const std::string& session);
  bool serves(const std::string& session) const;

 private:
  class Runner;
  class Process;

  mutable std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace cove::engine
