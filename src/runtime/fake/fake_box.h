#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/unique_fd.h"
#include "runtime/fake/fake_program.h"
#include "runtime/runtime.h"

namespace cove::fake {

// One server's connection to the machine.
struct FakeServer {
  bool cut = false;
};

// What a server is told of one sandbox. Used with the world's lock held.
class FakeChannel {
 public:
  explicit FakeChannel(std::shared_ptr<FakeServer> server);
  void push(Event event);
  std::optional<Event> pop();
  int fd() const { return readable_.get(); }
  bool cut() const { return server_->cut; }

 private:
  std::shared_ptr<FakeServer> server_;
  std::deque<Event> events_;
  UniqueFd readable_;
};

// One sandbox of the machine, or what is left of it.
struct FakeBox {
  enum class Life {
    HalfMade,
    Running,
    Dead,     // process 1 has ended, and nobody has cleared up
    Stopped,  // there are only files
  };
  Life life = Life::HalfMade;
  SandboxSpec spec;
  std::shared_ptr<FakeChannel> channel;  // none: no server is there
  std::shared_ptr<FakePlace> place = std::make_shared<FakePlace>();
  std::map<std::string, std::shared_ptr<FakeProgram>> programs;  // until they are forgotten
};

}  // namespace cove::fake
