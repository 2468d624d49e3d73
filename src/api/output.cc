#include "api/output.h"

#include "api/response_json.h"

namespace cove::api {
namespace {

constexpr size_t kStreamedAtOnce = 256 * kKiB;
constexpr size_t kGivenAtOnce = 1 * kMiB;

Document chunk_json(const live::Chunk& chunk) {
  Document document = {{"seq", chunk.seq}};
  add_data(document, chunk.data);
  return document;
}

// Sends what there is until the end; how it came to its own.
enum class StreamEnd { Whole, Gone, Stopping };
Checked<StreamEnd> follow(EventStream& stream, live::Exec& exec, live::Follower& follower) {
  while (true) {
    std::vector<live::Chunk> chunks = COVE_TRY(follower.next(kStreamedAtOnce));
    if (!chunks.empty()) {
      if (!stream.send(chunk_events(chunks))) return StreamEnd::Gone;
      continue;
    }
    if (follower.at_end()) return stream.send(exit_event(exec)) && stream.end() ? StreamEnd::Whole : StreamEnd::Gone;
    EventStream::Wake wake = stream.wait(follower.fd());
    if (wake == EventStream::Wake::Gone) return StreamEnd::Gone;
    if (wake == EventStream::Wake::Stopping) return StreamEnd::Stopping;
  }
}

}  // namespace

Checked<std::string> result_of(const live::Exec& exec) {
  if (auto failure = exec.failure()) return refuse(*failure);
  std::string result = exec.info().result;
  if (result.empty()) return refuse(500, "internal", "there is no record of how the exec ended");
  return result;
}

std::string chunk_events(const std::vector<live::Chunk>& chunks) {
  std::string events;
  for (const live::Chunk& chunk : chunks)
    events += sse_event(chunk.seq, stream_name(chunk.stream), dump(chunk_json(chunk)));
  return events;
}

std::string exit_event(const live::Exec& exec) {
  Checked<std::string> result = result_of(exec);
  if (!result) return sse_event(std::nullopt, "error", to_json(result.error()));
  uint64_t seq = exec.info().next_seq;
  return sse_event(seq, "exit", dump_with({{"seq", seq}}, "result", *result));
}

Outcome stream_output(Call& call, live::Exec& exec, uint64_t from) {
  auto follower = COVE_TRY(exec.follow(from));
  std::string id = exec.info().id;
  call.api.attendance.begin(id);
  EventStream stream(call.exchange);
  Checked<StreamEnd> end = stream.begin() ? follow(stream, exec, *follower) : Checked<StreamEnd>(StreamEnd::Gone);
  // A stream that the server breaks off by itself can be taken up again: nobody has gone.
  bool lost = end && *end == StreamEnd::Gone;
  call.api.attendance.end(id, lost ? Attendance::Parting::Lost : Attendance::Parting::Orderly);
  if (!end) (void)stream.send_problem(end.error());
  return {};
}

Outcome give_output(Call& call, live::Exec& exec, uint64_t from) {
  auto follower = COVE_TRY(exec.follow(from));
  // Asked before the output is read: whoever is told that it has ended has been given all of it.
  bool ended = exec.ended();
  std::vector<live::Chunk> chunks = COVE_TRY(follower->next(kGivenAtOnce));
  Document list = Document::array();
  for (const live::Chunk& chunk : chunks) {
    Document each = {{"seq", chunk.seq}, {"stream", stream_name(chunk.stream)}};
    add_data(each, chunk.data);
    list.push_back(std::move(each));
  }
  uint64_t next = chunks.empty() ? from : chunks.back().seq + 1;
  live::ExecInfo info = exec.info();
  Document document = {{"exec_id", info.id}, {"chunks", std::move(list)}, {"next", next}, {"ended", ended}};
  return call.respond(200, dump_with(document, "result", ended && !info.result.empty() ? info.result : "null"));
}

}  // namespace cove::api
