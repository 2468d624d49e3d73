#include "api/rest/run_stream.h"

#include "api/rest/output.h"
#include "api/rest/response_json.h"

namespace cove::api {
namespace {

using Wake = engine::CallerPresence::Wake;

Wake wake_of(http::Exchange::Wake wake) {
  switch (wake) {
    case http::Exchange::Wake::Ready:
      return Wake::Ready;
    case http::Exchange::Wake::Gone:
      return Wake::Gone;
    case http::Exchange::Wake::Timeout:
      return Wake::Timeout;
    case http::Exchange::Wake::Stopping:
      return Wake::Stopping;
  }
  return Wake::Gone;
}

std::string start_event(const engine::RunSink::Start& start) {
  return sse_event(std::nullopt, "start",
                   dump({{"exec_id", start.exec_id},
                         {"sandbox_id", start.sandbox->spec.id},
                         {"image", start.sandbox->spec.image},
                         {"warnings", start.sandbox->warnings}}));
}

}  // namespace

Wake ExchangeCaller::wait(int fd, std::chrono::milliseconds patience) { return wake_of(exchange_.wait(fd, patience)); }

Wake RunStream::wait(int fd, std::chrono::milliseconds patience) {
  return wake_of(begun_ ? stream_.wait(fd, patience) : exchange_.wait(fd, patience));
}

bool RunStream::begin(const Start& start) {
  begun_ = true;
  if (!stream_.begin()) return false;
  const bool tells = opening_ == Opening::Start && start.sandbox;
  return !tells || stream_.send(start_event(start)).has_value();
}

bool RunStream::output(const std::vector<engine::Chunk>& chunks) {
  return stream_.send(chunk_events(chunks)).has_value();
}

bool RunStream::result(uint64_t seq, const RichResult& result, Change change) {
  Json data = {{"seq", seq}, {"main", result.main}, {"formats", result.formats}};
  if (!result.display_id.empty()) data["display_id"] = result.display_id;
  if (change == Change::Replaces) data["update"] = true;
  return stream_.send(sse_event(seq, "result", dump(data))).has_value();
}

bool RunStream::clear(uint64_t seq) { return stream_.send(sse_event(seq, "clear", dump({{"seq", seq}}))).has_value(); }

bool RunStream::error(uint64_t seq, const CodeError& error) {
  const Json data = {{"seq", seq}, {"name", error.name}, {"value", error.value}, {"traceback", error.traceback}};
  return stream_.send(sse_event(seq, "error", dump(data))).has_value();
}

Outcome RunStream::end(const Checked<engine::Ran>& ran) {
  if (!ran && !begun_) return refuse(ran.error());
  Result<void> sent = ran ? stream_.send(exit_event(ran->seq, ran->result)) : stream_.send_problem(ran.error());
  if (sent) static_cast<void>(stream_.end());
  return {};
}

}  // namespace cove::api
