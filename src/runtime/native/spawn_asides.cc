// What takes long: a child of cove-spawn does it, and its answer is passed on.
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "runtime/native/error_report.h"
#include "runtime/native/spawn_server.h"
#include "sys/file.h"

namespace cove::native {
namespace {

using spawn::Type;
using wire::Reader;
using wire::Writer;

constexpr size_t kMostAsides = 32;
constexpr size_t kLongestAnswer = spawn::kMaxMessage - 64;

}  // namespace

Result<void> SpawnServer::do_aside(uint64_t token, const std::function<Result<Writer>()>& work,
                                   std::function<Result<void>(Reader&)> finish) {
  if (asides_.size() >= kMostAsides) return fail(Code::Exhausted, "too much is going on at the same time");
  sys::Pipe answer = COVE_TRY(sys::pipe());
  sys::Child child = COVE_TRY(sys::clone3(0));
  if (child.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    channel_.reset();
    answer.read.reset();
    Result<Writer> done = work();
    std::string text = done ? concat("+", done->data()) : concat("-", encode_error(done.error()));
    static_cast<void>(sys::write_all(answer.write.get(), text));
    ::_exit(0);
  }
  COVE_TRY(sys::set_nonblocking(answer.read.get()));
  asides_.push_back({token, std::move(child), std::move(answer.read), std::move(finish)});
  return {};
}

// True where all of it is there.
bool SpawnServer::take_answer(Aside& aside) {
  char piece[16 * 1024];
  ssize_t size = ::read(aside.answer.get(), piece, sizeof piece);
  if (size < 0) return errno != EAGAIN && errno != EINTR;
  aside.text.append(piece, static_cast<size_t>(size));
  return size == 0 || aside.text.size() > kLongestAnswer;
}

void SpawnServer::look_at_asides(const std::vector<pollfd>& polled, size_t first) {
  for (size_t i = polled.size(); i > first; --i) {
    Aside& aside = asides_[i - 1 - first];
    if (polled[i - 1].revents == 0 || !take_answer(aside)) continue;
    take_whole_answer(aside);
    asides_.erase(asides_.begin() + static_cast<std::ptrdiff_t>(i - 1 - first));
  }
}

void SpawnServer::take_whole_answer(const Aside& aside) {
  std::string_view text = aside.text;
  const bool whole = text.size() <= kLongestAnswer;
  if (whole && text.starts_with('+')) {
    Reader in(text.substr(1));
    if (!aside.finish) return send(spawn::message(Type::Done, aside.token), {}, in.rest());
    Result<void> finished = aside.finish(in);
    if (!finished) send(spawn::message(Type::Failed, aside.token).text(encode_error(finished.error())));
  } else {
    Error error = whole && text.starts_with('-') ? decode_error(text.substr(1))
                                                 : Error(Code::Unavailable, "whoever was to do it died on the way");
    send(spawn::message(Type::Failed, aside.token).text(encode_error(error)));
  }
}

}  // namespace cove::native
