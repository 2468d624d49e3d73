#include "api/rest/output.h"

#include "api/rest/response_json.h"
#include "api/rest/run_stream.h"
#include "base/encoding.h"
#include "engine/service/following.h"

namespace cove::api {
namespace {

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

Checked<engine::Ran> ran_of(const engine::Exec& exec) {
  ExecResult result = COVE_TRY(engine::result_of(exec));
  return engine::Ran{std::move(result), exec.info().next_seq};
}

}  // namespace

std::string chunk_events(const std::vector<engine::Chunk>& chunks) {
  std::string events;
  for (const engine::Chunk& chunk : chunks)
    events += sse_event(chunk.seq, stream_name(chunk.stream), dump(chunk_json(chunk)));
  return events;
}

std::string exit_event(uint64_t seq, const ExecResult& result) {
  return sse_event(seq, "exit", dump_with({{"seq", seq}}, "result", result_json(result)));
}

Outcome stream_output(Call& call, engine::Exec& exec, uint64_t from) {
  using engine::Attendance, engine::FollowEnd;
  auto follower = COVE_TRY(exec.follow(from));
  const std::string id = exec.info().id;
  Attendance& attendance = call.service().attendance();
  attendance.begin(id);
  RunStream stream(call.exchange, RunStream::Opening::Plain);
  Result<FollowEnd> end = stream.begin({.exec_id = id}) ? engine::pass_output(*follower, stream, stream)
                                                        : Result<FollowEnd>(FollowEnd::Left);
  if (end && *end == FollowEnd::Whole) static_cast<void>(stream.end(ran_of(exec)));
  // A stream that the server breaks off by itself can be taken up again: nobody has gone.
  const bool lost = end && *end == FollowEnd::Left;
  attendance.end(id, lost ? Attendance::Parting::Lost : Attendance::Parting::Orderly);
  if (!end) static_cast<void>(stream.end(refuse(end.error())));
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
