// Ends sandboxes, many at a time.
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/error_wire.h"
#include "base/text.h"
#include "spawn/server.h"
#include "sys/file.h"

namespace cove::spawn {
namespace {

using spawn::Type;
using wire::Reader;
using wire::Writer;

// The maximum number of sandboxes that are being removed without a waiting caller.
constexpr size_t kMostEndings = 64;

}  // namespace

// Ending a sandbox takes the kernel some milliseconds, in which other requests are served. If nothing runs in it any
// more, the remaining work has no visible effect and the caller does not wait for it, unless too many are pending.
Result<void> SpawnServer::destroy(uint64_t token, Reader& in) {
  std::string id = in.text();
  Files files = in.number() != 0 ? Files::Remove : Files::Keep;
  auto found = resources_by_id_.find(id);
  if (!in.done() || found == resources_by_id_.end())
    return fail(Code::NotFound, concat("cove-spawn has no sandbox ", id));
  Ending ending{id, files, token, std::move(found->second), std::chrono::steady_clock::now() + kEndTimeout};
  resources_by_id_.erase(found);
  if (!ending.resources->can_end_in_steps(files)) {
    COVE_TRY(end_in_helper(ending));
  } else {
    const bool in_use = ending.resources->in_use();
    ending.resources->begin_end();
    if (files == Files::Remove && !in_use && endings_.size() < kMostEndings) {
      static_cast<void>(done(token));
      ending.token = 0;
    }
  }
  endings_.push_back(std::move(ending));
  return {};
}

Result<void> SpawnServer::end_in_helper(Ending& ending) {
  sys::Pipe answer = COVE_TRY(sys::pipe());
  sys::Child child = COVE_TRY(sys::clone3(0));
  if (child.pid == 0) {
    channel_.reset();
    Result<void> ended = ending.resources->destroy(ending.files);
    if (!ended) static_cast<void>(sys::write_all(answer.write.get(), encode_error(ended.error())));
    // A byte distinguishes completion from a crash of the child.
    if (ended) static_cast<void>(sys::write_all(answer.write.get(), "."));
    ::_exit(0);
  }
  ending.child = std::move(child);
  ending.answer = std::move(answer.read);
  return {};
}

// True if it has ended, successfully or not.
bool SpawnServer::finish(Ending& ending) {
  if (!ending.child) {
    Result<void> ended = ending.resources->finish_end(ending.files);
    if (!ended && ended.error().code() == Code::Unavailable && end_in_helper(ending)) return false;
    report_ended(ending, ended);
    return true;
  }
  Result<std::string> word = sys::read_all(ending.answer.get(), wire::kMaxMessage);
  if (word && *word == ".")
    report_ended(ending, {});
  else if (word && !word->empty())
    report_ended(ending, fail(decode_error(*word)));
  else
    report_ended(ending, fail(Code::Unavailable, concat("the process that was ending sandbox ", ending.id, " died")));
  return true;
}

void SpawnServer::report_ended(const Ending& ending, const Result<void>& ended) {
  if (ending.token == 0) {
    if (!ended)
      std::fprintf(stderr, "cove-spawn: end sandbox %s: %s\n", ending.id.c_str(), ended.error().message().c_str());
    return;
  }
  if (ended) return static_cast<void>(done(ending.token));
  send(spawn::message(Type::Failed, ending.token).text(encode_error(ended.error())));
}

void SpawnServer::check_endings(const std::vector<pollfd>& polled, size_t first) {
  auto now = std::chrono::steady_clock::now();
  for (size_t i = polled.size(); i > first; --i) {
    Ending& ending = endings_[i - 1 - first];
    bool over = polled[i - 1].revents != 0 && finish(ending);
    if (!over && !ending.child && now > ending.until) {
      report_ended(ending, fail(Code::Unavailable, concat("sandbox ", ending.id, " does not end")));
      over = true;
    }
    if (over) endings_.erase(endings_.begin() + static_cast<std::ptrdiff_t>(i - 1 - first));
  }
}

}  // namespace cove::spawn
