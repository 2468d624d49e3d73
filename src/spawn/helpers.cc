// Long operations run in a child of cove-spawn, whose reply is passed on.
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

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

constexpr size_t kLongestAnswer = spawn::kMaxMessage - 64;

}  // namespace

Result<void> SpawnServer::run_helper(uint64_t token, const HelperWork& work, HelperFinish finish, size_t most) {
  if (helpers_.size() >= most) return fail(Code::Exhausted, "too many operations are in progress");
  sys::SocketPair answer = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  sys::Child child = COVE_TRY(sys::clone3(0));
  if (child.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    channel_.reset();
    answer.first.reset();
    Result<HelperAnswer> done = work();
    std::vector<int> fds;
    if (done)
      for (const UniqueFd& fd : done->fds) fds.push_back(fd.get());
    const std::string text = done ? concat("+", done->rest.data()) : concat("-", encode_error(done.error()));
    static_cast<void>(sys::send_message(answer.second.get(), text, fds));
    ::_exit(0);
  }
  helpers_.push_back({token, std::move(child), std::move(answer.first), std::move(finish)});
  return {};
}

void SpawnServer::check_helpers(const std::vector<pollfd>& polled, size_t first) {
  const auto now = std::chrono::steady_clock::now();
  for (size_t i = polled.size(); i > first; --i) {
    const size_t index = i - 1 - first;
    const bool answered = polled[i - 1].revents != 0;
    if (!answered && now < helpers_[index].until) continue;
    // The continuation may start another helper.
    Helper helper = std::move(helpers_[index]);
    helpers_.erase(helpers_.begin() + static_cast<std::ptrdiff_t>(index));
    if (answered)
      take_answer(helper,
                  sys::receive_message(helper.answer.get(), kLongestAnswer, MSG_DONTWAIT).value_or(sys::Message()));
    else
      give_up(helper);
  }
}

void SpawnServer::take_answer(Helper& helper, sys::Message message) {
  std::string_view text = message.data;
  if (text.starts_with('+')) {
    Reader in(text.substr(1));
    if (!helper.finish) return send(spawn::message(Type::Done, helper.token), {}, in.rest());
    Result<void> finished = helper.finish(in, std::move(message.fds));
    if (!finished) send(spawn::message(Type::Failed, helper.token).text(encode_error(finished.error())));
  } else {
    Error error = text.starts_with('-') ? decode_error(text.substr(1))
                                        : Error(Code::Unavailable, "the process that was doing it died");
    send(spawn::message(Type::Failed, helper.token).text(encode_error(error)));
  }
}

// Does not wait for its end: the child may be stuck in the kernel.
void SpawnServer::give_up(const Helper& helper) {
  static_cast<void>(sys::kill_by_pidfd(helper.child.pidfd.get(), SIGKILL));
  Error error = Error(Code::Unavailable, concat(helper.what, ": timed out"))
                    .hint("check the file system of the folder: it does not respond");
  send(spawn::message(Type::Failed, helper.token).text(encode_error(error)));
}

}  // namespace cove::spawn
