#include "spawn/client.h"

#include <sys/socket.h>

#include <cerrno>
#include <future>

#include "base/error_wire.h"
#include "base/text.h"
#include "sys/socket.h"

namespace cove::spawn {
namespace {

using spawn::Type;
using wire::Reader;
using wire::Writer;

Error gone_error() {
  return Error(Code::Unavailable, "cove-spawn, which creates sandboxes, has ended").hint("restart the server");
}

}  // namespace

SpawnClient::SpawnClient(UniqueFd channel, std::function<void()> gone)
    : channel_(std::move(channel)), gone_(std::move(gone)) {}

std::shared_ptr<SpawnClient> SpawnClient::create(UniqueFd channel, std::function<void()> gone) {
  std::shared_ptr<SpawnClient> client(new SpawnClient(std::move(channel), std::move(gone)));
  client->reader_ = std::thread([raw = client.get()] { raw->read(); });
  return client;
}

SpawnClient::~SpawnClient() {
  ::shutdown(channel_.get(), SHUT_RDWR);
  if (reader_.get_id() == std::this_thread::get_id())
    reader_.detach();
  else
    reader_.join();
}

void SpawnClient::read() {
  while (true) {
    Result<sys::Message> message = sys::receive_message(channel_.get(), spawn::kMaxMessage);
    if (!message || message->data.empty()) break;
    take(std::move(message->data), std::move(message->fds));
  }
  fail_all();
  if (gone_) gone_();
}

void SpawnClient::fail_all() {
  std::map<uint64_t, Later> waiting;
  std::map<std::string, std::weak_ptr<Listener>> listeners;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    waiting.swap(waiting_);
    listeners = listeners_;
  }
  for (auto& [token, later] : waiting) later(fail(gone_error()));
  for (auto& [id, listener] : listeners)
    if (std::shared_ptr<Listener> there = listener.lock()) there->broken(gone_error());
}

void SpawnClient::take(std::string data, std::vector<UniqueFd> fds) {
  Reader in(data);
  auto type = static_cast<Type>(in.number());
  uint64_t token = in.number();
  if (type != Type::Done && type != Type::Failed) return tell_listener(type, in);
  Later later;
  {
    std::lock_guard lock(mutex_);
    auto found = waiting_.find(token);
    if (found == waiting_.end()) return;
    later = std::move(found->second);
    waiting_.erase(found);
  }
  if (type == Type::Done)
    later(Answer{std::string(in.rest()), std::move(fds)});
  else
    later(fail(decode_error(in.text())));
}

void SpawnClient::tell_listener(Type type, Reader& in) {
  std::string id = in.text();
  std::shared_ptr<Listener> listener;
  {
    std::lock_guard lock(mutex_);
    auto found = listeners_.find(id);
    if (found != listeners_.end()) listener = found->second.lock();
  }
  if (!listener) return;
  if (type == Type::Built) listener->built();
  if (type == Type::Broken) listener->broken(decode_error(in.text()));
  if (type == Type::OutOfMemory) listener->out_of_memory();
}

void SpawnClient::listen(const std::string& id, std::weak_ptr<Listener> listener) {
  std::lock_guard lock(mutex_);
  listeners_[id] = std::move(listener);
}

bool SpawnClient::closed() {
  std::lock_guard lock(mutex_);
  return closed_;
}

bool SpawnClient::begin_ending() {
  constexpr int kMost = 64;
  if (++endings_ <= kMost) return true;
  --endings_;
  return false;
}

void SpawnClient::unlisten(const std::string& id) {
  std::lock_guard lock(mutex_);
  listeners_.erase(id);
}

void SpawnClient::ask(Type type, const Writer& rest, Later later, const std::vector<int>& fds) {
  uint64_t token;
  bool closed;
  {
    std::lock_guard lock(mutex_);
    token = next_token_++;
    closed = closed_;
    if (!closed) waiting_.emplace(token, std::move(later));
  }
  if (closed) return later(fail(gone_error()));
  Result<void> sent = sys::send_message(channel_.get(), spawn::message(type, token).data() + rest.data(), fds);
  if (sent) return;
  const bool gone = sent.error().errnum() == EPIPE || sent.error().errnum() == ECONNRESET;
  Later unsent;
  {
    std::lock_guard lock(mutex_);
    closed_ = closed_ || gone;
    auto found = waiting_.find(token);
    if (found == waiting_.end()) return;
    unsent = std::move(found->second);
    waiting_.erase(found);
  }
  unsent(fail(gone ? gone_error() : std::move(sent.error()).note("call cove-spawn")));
}

Result<SpawnClient::Answer> SpawnClient::ask(Type type, const Writer& rest, const std::vector<int>& fds) {
  auto answer = std::make_shared<std::promise<Result<Answer>>>();
  std::future<Result<Answer>> future = answer->get_future();
  ask(type, rest, [answer](Result<Answer> result) { answer->set_value(std::move(result)); }, fds);
  return future.get();
}

Result<std::string> diagnose(SpawnClient& spawn) {
  SpawnClient::Answer answer = COVE_TRY(spawn.ask(Type::Diagnose, Writer()));
  Reader in(answer.body);
  std::string report = in.text();
  if (!in.done()) return fail(Code::Internal, "cove-spawn sent a malformed reply");
  return report;
}

void SpawnClient::tell(Type type, const Writer& rest) {
  static_cast<void>(sys::send_message(channel_.get(), spawn::message(type, 0).data() + rest.data()));
}

}  // namespace cove::spawn
