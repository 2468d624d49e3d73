#include "runtime/native/socket_view.h"

#include <cerrno>

#include "base/text.h"
#include "sys/socket.h"

namespace cove::native {
namespace {

using wire::Reader;
using wire::Type;
using wire::Writer;

// The maximum number of entries of one listing.
constexpr size_t kMaxEntries = 1'000'000;

Error malformed_reply() { return Error(Code::Internal, "the sandbox's file server sent a malformed reply"); }

}  // namespace

Result<SocketView::Answer> SocketView::ask(const Writer& request, const std::string& what) {
  // A server that could not start has sent the reason before it closed: that is read below.
  Result<void> sent = sys::send_message(socket_.get(), request.data());
  if (!sent && sent.error().errnum() != EPIPE) return fail(std::move(sent.error()).note(what));
  Answer answer;
  while (true) {
    Result<sys::Message> message = sys::receive_message(socket_.get(), wire::kMaxMessage);
    // If it closed without reading our request, its last message follows the reset.
    if (!message && message.error().errnum() == ECONNRESET)
      message = sys::receive_message(socket_.get(), wire::kMaxMessage);
    if (!message || message->data.empty())
      return fail(Error(Code::Unavailable, "the sandbox's file server is gone").note(what));
    Reader in(message->data);
    Type type = in.type<Type>();
    if (type == Type::Entries) {
      uint64_t count = in.number();
      for (uint64_t i = 0; i < count && in.ok(); ++i) answer.entries.push_back(FileEntry::decode(in));
      if (!in.done() || answer.entries.size() > kMaxEntries) return fail(malformed_reply().note(what));
      continue;
    }
    auto errnum = static_cast<int>(in.number());
    if (type != Type::Done || !in.ok()) return fail(malformed_reply().note(what));
    if (errnum == ESRCH) return fail(Error(Code::NotFound, "no such user in the sandbox").note(what));
    if (errnum != 0) return fail(Error::from_errno(errnum, what));
    answer.data = std::string(in.rest());
    answer.fds = std::move(message->fds);
    return answer;
  }
}

Result<UniqueFd> SocketView::open(const std::string& path, int flags, mode_t mode) {
  Writer request(Type::Open);
  request.text(path).number(static_cast<uint64_t>(flags)).number(mode);
  Answer answer = COVE_TRY(ask(request, concat("open ", path, " in the sandbox")));
  if (answer.fds.size() != 1) return fail(malformed_reply());
  return std::move(answer.fds[0]);
}

Result<FileEntry> SocketView::stat(const std::string& path, Links links) {
  Writer request(Type::Stat);
  request.text(path).number(links == Links::Follow ? 1 : 0);
  Answer answer = COVE_TRY(ask(request, concat("stat ", path, " in the sandbox")));
  Reader in(answer.data);
  FileEntry entry = FileEntry::decode(in);
  if (!in.done()) return fail(malformed_reply());
  return entry;
}

Result<std::vector<FileEntry>> SocketView::list(const std::string& path) {
  Answer answer = COVE_TRY(ask(Writer(Type::List).text(path), concat("list ", path, " in the sandbox")));
  return std::move(answer.entries);
}

Result<void> SocketView::mkdir(const std::string& path, mode_t mode, Depth depth) {
  Writer request(Type::Mkdir);
  request.text(path).number(mode).number(depth == Depth::Recursive ? 1 : 0);
  COVE_TRY(ask(request, concat("mkdir ", path, " in the sandbox")));
  return {};
}

Result<void> SocketView::remove(const std::string& path, Depth depth) {
  Writer request(Type::Remove);
  request.text(path).number(depth == Depth::Recursive ? 1 : 0);
  COVE_TRY(ask(request, concat("remove ", path, " in the sandbox")));
  return {};
}

Result<void> SocketView::rename(const std::string& from, const std::string& to) {
  COVE_TRY(ask(Writer(Type::Rename).text(from).text(to), concat("rename ", from, " to ", to, " in the sandbox")));
  return {};
}

Result<void> SocketView::chmod(const std::string& path, mode_t mode) {
  COVE_TRY(ask(Writer(Type::Chmod).text(path).number(mode), concat("chmod ", path, " in the sandbox")));
  return {};
}

Result<std::string> SocketView::readlink(const std::string& path) {
  Answer answer = COVE_TRY(ask(Writer(Type::Readlink).text(path), concat("readlink ", path, " in the sandbox")));
  Reader in(answer.data);
  return in.text();
}

Result<void> SocketView::symlink(const std::string& target, const std::string& path) {
  COVE_TRY(ask(Writer(Type::Symlink).text(target).text(path), concat("link ", path, " in the sandbox")));
  return {};
}

Result<int> SocketView::watch(const std::string& path, uint32_t mask) {
  Answer answer = COVE_TRY(ask(Writer(Type::Watch).text(path).number(mask), concat("watch ", path, " in the sandbox")));
  Reader in(answer.data);
  auto watched = static_cast<int>(in.number());
  if (!in.done() || (!inotify_ && answer.fds.size() != 1)) return fail(malformed_reply());
  if (!inotify_) inotify_ = std::move(answer.fds[0]);
  return watched;
}

Result<void> SocketView::unwatch(int watched) {
  COVE_TRY(ask(Writer(Type::Unwatch).number(static_cast<uint64_t>(watched)), "end a watch in the sandbox"));
  return {};
}

Result<std::vector<FileEntry>> SocketView::glob(const std::string& pattern, const std::string& folder) {
  Answer answer =
      COVE_TRY(ask(Writer(Type::Glob).text(pattern).text(folder), concat("match ", pattern, " in the sandbox")));
  return std::move(answer.entries);
}

}  // namespace cove::native
