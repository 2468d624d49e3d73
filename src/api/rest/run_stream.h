#pragma once

#include "api/rest/sse.h"
#include "engine/service/caller_presence.h"
#include "engine/service/run_sink.h"
#include "http/exchange.h"

// A caller over HTTP, as the engine's use cases see him.
namespace cove::api {

class ExchangeCaller : public engine::CallerPresence {
 public:
  explicit ExchangeCaller(http::Exchange& exchange) : exchange_(exchange) {}
  Wake wait(int fd, std::chrono::milliseconds patience) override;

 private:
  http::Exchange& exchange_;
};

// One who gets the run as an event stream, which begins with the run: until then he can be answered otherwise.
class RunStream : public engine::CallerPresence, public engine::RunSink {
 public:
  // Whether the stream says first what runs where.
  enum class Opening { Plain, Start };
  RunStream(http::Exchange& exchange, Opening opening) : exchange_(exchange), stream_(exchange), opening_(opening) {}

  Wake wait(int fd, std::chrono::milliseconds patience) override;

  bool begin(const Start& start) override;
  bool output(const std::vector<engine::Chunk>& chunks) override;
  bool result(uint64_t seq, const RichResult& result, Change change) override;
  bool clear(uint64_t seq) override;
  bool error(uint64_t seq, const CodeError& error) override;

  // The end: how it ended, or why nobody knows. Where it has not begun, a problem is the answer.
  Outcome end(const Checked<engine::Ran>& ran);

 private:
  http::Exchange& exchange_;
  EventStream stream_;
  Opening opening_;
  bool begun_ = false;
};

}  // namespace cove::api
