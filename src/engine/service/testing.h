#pragma once

#include <poll.h>

#include <deque>
#include <string>
#include <vector>

#include "engine/service/caller_presence.h"
#include "engine/service/run_sink.h"

// A caller and a sink for tests of use cases.
namespace cove::engine {

// Is told beforehand what becomes of him: each wait takes one of these; after them he waits as anybody does.
class FakeCaller : public CallerPresence {
 public:
  explicit FakeCaller(std::deque<Wake> wakes = {}) : wakes_(std::move(wakes)) {}

  Wake wait(int fd, std::chrono::milliseconds patience) override {
    ++waits;
    if (!wakes_.empty()) {
      const Wake wake = wakes_.front();
      wakes_.pop_front();
      return wake;
    }
    pollfd polled = {.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, static_cast<int>(patience.count())) > 0 ? Wake::Ready : Wake::Timeout;
  }

  int waits = 0;

 private:
  std::deque<Wake> wakes_;
};

// Notes what it is given: "begin", "1 out a", "2 result 42". Takes `most` of them.
class FakeSink : public RunSink {
 public:
  explicit FakeSink(size_t most = SIZE_MAX) : most_(most) {}

  bool begin(const Start&) override { return note("begin"); }
  bool output(const std::vector<Chunk>& chunks) override {
    bool takes = true;
    for (const Chunk& chunk : chunks)
      takes = note(std::to_string(chunk.seq) + (chunk.stream == Stream::Out ? " out " : " err ") + chunk.data);
    return takes;
  }
  bool result(uint64_t seq, const RichResult& result, Change change) override {
    return note(std::to_string(seq) + (change == Change::Adds ? " result " : " update ") +
                result.formats.value("text", ""));
  }
  bool clear(uint64_t seq) override { return note(std::to_string(seq) + " clear"); }
  bool error(uint64_t seq, const CodeError& error) override {
    return note(std::to_string(seq) + " error " + error.name);
  }

  std::vector<std::string> notes;

 private:
  bool note(std::string text) {
    if (notes.size() == most_) return false;
    notes.push_back(std::move(text));
    return true;
  }
  size_t most_;
};

}  // namespace cove::engine
