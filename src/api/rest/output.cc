#include "api/rest/output.h"

#include "api/rest/response_json.h"
#include "base/encoding.h"

namespace cove::api {
namespace {

constexpr size_t kStreamedAtOnce = 256 * kKiB;
constexpr size_t kGivenAtOnce = 1 * kMiB;

// Text with NUL would be six times as long.
Json chunk_json(const engine::Chunk& chunk) {
  Json document = {{"seq", chunk.seq}};
  if (chunk.data.find('\0') == std::string::npos)
    add_data(document, chunk.data);
  else
    document["base64"] = to_base64(chunk.data);
  return document;
}

}  // namespace

Checked<StreamEnd> send_output(EventStream& stream, engine::Follower& follower) {
  while (true) {
    std::vector<engine::Chunk> chunks = COVE_TRY(follower.next(kStreamedAtOnce));
    if (!chunks.empty()) {
      if (!stream.send(chunk_events(chunks))) return StreamEnd::Gone;
      continue;
    }
    if (follower.at_end()) return StreamEnd::Whole;
    EventStream::Wake wake = stream.wait(follower.fd());
    if (wake == EventStream::Wake::Gone) return StreamEnd::Gone;
    if (wake == EventStream::Wake::Stopping) return StreamEnd::Stopping;
  }
}

Checked<ExecResult> result_of(const engine::Exec& exec) {
  if (auto failure = exec.failure()) return refuse(*failure);
  std::optional<ExecResult> result = exec.info().result;
  if (!result) return refuse(500, "internal", "there is no record of how the exec ended");
  return std::move(*result);
}

std::string chunk_events(const std::vector<engine::Chunk>& chunks) {
  std::string events;
  for (const engine::Chunk& chunk : chunks)
    events += sse_event(chunk.seq, stream_name(chunk.stream), dump(chunk_json(chunk)));
  return events;
}

std::string exit_event(const engine::Exec& exec, const Checked<ExecResult>& result) {
  if (!result) return sse_event(std::nullopt, "error", to_json(result.error()));
  uint64_t seq = exec.info().next_seq;
  return sse_event(seq, "exit", dump_with({{"seq", seq}}, "result", result_json(*result)));
}

Outcome stream_output(Call& call, engine::Exec& exec, uint64_t from) {
  auto follower = COVE_TRY(exec.follow(from));
  std::string id = exec.info().id;
  call.api.attendance.begin(id);
  EventStream stream(call.exchange);
  Checked<StreamEnd> end = stream.begin() ? send_output(stream, *follower) : Checked<StreamEnd>(StreamEnd::Gone);
  if (end && *end == StreamEnd::Whole && !(stream.send(exit_event(exec, result_of(exec))) && stream.end()))
    end = StreamEnd::Gone;
  // A stream that the server breaks off by itself can be taken up again: nobody has gone.
  bool lost = end && *end == StreamEnd::Gone;
  call.api.attendance.end(id, lost ? Attendance::Parting::Lost : Attendance::Parting::Orderly);
  if (!end) (void)stream.send_problem(end.error());
  return {};
}

Outcome give_output(Call& call, engine::Exec& exec, uint64_t from) {
  auto follower = COVE_TRY(exec.follow(from));
  // Asked before the output is read: whoever is told that it has ended has been given all of it.
  bool ended = exec.ended();
  std::vector<engine::Chunk> chunks = COVE_TRY(follower->next(kGivenAtOnce));
  Json list = Json::array();
  for (const engine::Chunk& chunk : chunks) {
    Json each = {{"seq", chunk.seq}, {"stream", stream_name(chunk.stream)}};
    add_data(each, chunk.data);
    list.push_back(std::move(each));
  }
  engine::ExecInfo info = exec.info();
  // Where nothing of it is kept any longer, the next is the end.
  uint64_t next = !chunks.empty() ? chunks.back().seq + 1 : ended ? std::max(from, info.next_seq) : from;
  Json document = {{"exec_id", info.id}, {"chunks", std::move(list)}, {"next", next}, {"ended", ended}};
  return call.respond(200, dump_with(document, "result", ended && info.result ? result_json(*info.result) : "null"));
}

}  // namespace cove::api
