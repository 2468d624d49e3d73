#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/exec/exec.h"
#include "engine/sandbox_info.h"

namespace cove::engine {

// What a run comes to.
struct Ran {
  ExecResult result;
  uint64_t seq = 0;  // the number of its end, after those of its events
};

// Takes what a run writes and shows while it runs; a face makes a stream of it. Events have numbers, from 1 on. Each
// call says whether somebody is still there to take more: where nobody is, the caller has left.
class RunSink {
 public:
  struct Start {
    std::string exec_id;
    const SandboxInfo* sandbox = nullptr;  // none on the host
  };
  // What a result does to those before it with the same display id.
  enum class Change { Adds, Replaces };

  virtual ~RunSink() = default;
  // Before all others: it runs.
  virtual bool begin(const Start& start) = 0;
  virtual bool output(const std::vector<Chunk>& chunks) = 0;
  // Of code in a context:
  virtual bool result(uint64_t seq, const RichResult& result, Change change) = 0;
  virtual bool clear(uint64_t seq) = 0;  // the results that are not `main` are gone
  virtual bool error(uint64_t seq, const CodeError& error) = 0;
};

}  // namespace cove::engine
