#include "net/gateway_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "base/text.h"
#include "net/gateway_messages.h"
#include "sys/socket.h"

namespace cove::net {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kPatience(5);  // with a gateway that does not answer
constexpr size_t kAttachedAtATime = 16;       // descriptors under way count against a limit

// How long to wait before a gateway that ended is started again: not at all, unless it always ends at once.
class Pause {
 public:
  milliseconds after(Clock::duration lifetime) {
    constexpr milliseconds kFirst(10), kLongest(640);
    pause_ = lifetime >= std::chrono::seconds(1) ? milliseconds(0) : std::clamp(pause_ * 2, kFirst, kLongest);
    return pause_;
  }

 private:
  milliseconds pause_{0};
};

NetworkCounters sum(const NetworkCounters& a, const NetworkCounters& b) {
  return {a.in_bytes + b.in_bytes, a.out_bytes + b.out_bytes, a.connections + b.connections};
}

Error unknown(const std::string& sandbox) {
  return Error(Code::NotFound, concat("the gateway has no sandbox ", sandbox));
}
Error silent() { return Error(Code::Unavailable, "the gateway of the network does not answer"); }

class GatewayClient : public Gateway {
 public:
  GatewayClient(std::function<Result<UniqueFd>()> start, GatewaySettings settings, std::shared_ptr<Listener> listener)
      : start_(std::move(start)), settings_(std::move(settings)), listener_(std::move(listener)) {}
  ~GatewayClient() override;

  Result<void> attach(const std::string& sandbox, NetworkSockets sockets) override;
  Result<void> set_policy(const std::string& sandbox, const EffectivePolicy& policy) override;
  void detach(const std::string& sandbox) override;
  Result<NetworkCounters> sync(const std::string& sandbox) override;

 private:
  struct Box {
    NetworkSockets sockets;
    bool attached = false;
    UniqueFd policy;          // sealed
    NetworkCounters earlier;  // of gateways before this one
    NetworkCounters latest;
  };
  struct Waiting {
    std::string sandbox;
    bool done = false;
    bool failed = false;
  };

  void need();
  void run();
  bool wait_for_work(milliseconds pause);
  void serve(UniqueFd channel);
  Result<void> hand_over();
  Result<void> hand_over(const std::string& sandbox, const Box& box);
  void read(int channel);
  void take(const std::string& data);
  void take_synced(const Synced& synced);
  void fail_waiting();
  void close_channel();
  void drop_channel();
  Result<void> wait_until_up(std::unique_lock<std::mutex>& lock, Clock::time_point deadline);
  Result<bool> ask_sync(const std::string& sandbox, Clock::time_point deadline);
  Result<bool> wait_for_synced(uint64_t token, Clock::time_point deadline);
  uint64_t new_token(const std::string& sandbox);

  std::function<Result<UniqueFd>()> start_;
  GatewaySettings settings_;
  std::shared_ptr<Listener> listener_;

  // Held while messages are sent, and taken before the other. What is guarded by both changes under both, and is read
  // under either.
  std::mutex sending_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Box> boxes_;  // by both, but for its counters
  UniqueFd channel_;                  // by both
  bool up_ = false;                   // the gateway has all sandboxes
  bool stopping_ = false;
  uint64_t failures_ = 0;  // of starting it
  std::string last_failure_;
  uint64_t next_token_ = 1;
  std::map<uint64_t, Waiting> waiting_;
  std::thread thread_;
};

GatewayClient::~GatewayClient() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (channel_) ::shutdown(channel_.get(), SHUT_RDWR);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// --- calls ----------------------------------------------------------------------------------------------------------

// Where a message cannot be sent, the gateway is gone or stuck; the next one gets the sandbox, too.
Result<void> GatewayClient::attach(const std::string& sandbox, NetworkSockets sockets) {
  std::lock_guard sending(sending_);
  {
    std::lock_guard lock(mutex_);
    Box& box = boxes_[sandbox];
    box.sockets = std::move(sockets);
    box.attached = true;
  }
  need();
  if (channel_ && !send_attach(channel_.get(), sandbox, boxes_[sandbox].sockets)) drop_channel();
  return {};
}

Result<void> GatewayClient::set_policy(const std::string& sandbox, const EffectivePolicy& policy) {
  UniqueFd sealed = COVE_TRY_NOTE("set a network policy", seal_policy(policy));
  {
    std::lock_guard sending(sending_);
    {
      std::lock_guard lock(mutex_);
      boxes_[sandbox].policy = std::move(sealed);
    }
    need();
    if (channel_ && !send_policy(channel_.get(), sandbox, boxes_[sandbox].policy)) drop_channel();
  }
  COVE_TRY(sync(sandbox));
  return {};
}

void GatewayClient::detach(const std::string& sandbox) {
  std::lock_guard sending(sending_);
  {
    std::lock_guard lock(mutex_);
    if (!boxes_.erase(sandbox)) return;
  }
  if (channel_ && !send_detach(channel_.get(), sandbox)) drop_channel();
}

Result<NetworkCounters> GatewayClient::sync(const std::string& sandbox) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (!COVE_TRY(ask_sync(sandbox, deadline))) {
  }
  std::lock_guard lock(mutex_);
  auto found = boxes_.find(sandbox);
  if (found == boxes_.end()) return fail(unknown(sandbox));
  return sum(found->second.earlier, found->second.latest);
}

// False where the gateway ended meanwhile.
Result<bool> GatewayClient::ask_sync(const std::string& sandbox, Clock::time_point deadline) {
  uint64_t token = 0;
  {
    std::unique_lock lock(mutex_);
    if (!boxes_.contains(sandbox)) return fail(unknown(sandbox));
    COVE_TRY(wait_until_up(lock, deadline));
    token = new_token(sandbox);
  }
  {
    std::lock_guard sending(sending_);
    if (channel_ && !send_sync(channel_.get(), token, sandbox)) drop_channel();
  }
  return wait_for_synced(token, deadline);
}

Result<void> GatewayClient::wait_until_up(std::unique_lock<std::mutex>& lock, Clock::time_point deadline) {
  const uint64_t failures = failures_;
  changed_.wait_until(lock, deadline, [&] { return up_ || stopping_ || failures_ != failures; });
  if (up_) return {};
  const std::string why = last_failure_.empty() ? "" : concat(": ", last_failure_);
  return fail(Error(Code::Unavailable, concat("the gateway of the network is not running", why))
                  .hint("without it, sandboxes reach nothing; the server's log says more"));
}

uint64_t GatewayClient::new_token(const std::string& sandbox) {
  waiting_[next_token_].sandbox = sandbox;
  return next_token_++;
}

Result<bool> GatewayClient::wait_for_synced(uint64_t token, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  const Waiting& waiting = waiting_[token];
  changed_.wait_until(lock, deadline, [&] { return waiting.done || waiting.failed || stopping_; });
  const Waiting ended = waiting;
  waiting_.erase(token);
  if (ended.done || ended.failed) return ended.done;
  drop_channel();
  return fail(silent());
}

// Its thread then finds it closed. With either mutex held.
void GatewayClient::drop_channel() {
  if (channel_) ::shutdown(channel_.get(), SHUT_RDWR);
}

// --- the thread -----------------------------------------------------------------------------------------------------

// With `sending_` held.
void GatewayClient::need() {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

bool GatewayClient::wait_for_work(milliseconds pause) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, pause, [&] { return stopping_; });
  changed_.wait(lock, [&] { return stopping_ || !boxes_.empty(); });
  return !stopping_;
}

void GatewayClient::run() {
  Pause pause;
  milliseconds wait(0);
  while (wait_for_work(wait)) {
    const Clock::time_point began = Clock::now();
    Result<UniqueFd> channel = start_();
    if (channel) {
      serve(std::move(*channel));
    } else {
      log::error("the gateway of the network cannot be started", {{"error", channel.error().message()}});
      std::lock_guard lock(mutex_);
      ++failures_;
      last_failure_ = channel.error().message();
      changed_.notify_all();
    }
    wait = pause.after(Clock::now() - began);
  }
}

void GatewayClient::serve(UniqueFd channel) {
  const timeval patience = {kPatience.count(), 0};
  ::setsockopt(channel.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::thread reader([this, fd = channel.get()] { read(fd); });
  {
    std::lock_guard sending(sending_);
    {
      std::lock_guard lock(mutex_);
      channel_ = std::move(channel);
      if (stopping_) drop_channel();
    }
    const Result<void> handed = hand_over();
    if (!handed) drop_channel();
    std::lock_guard lock(mutex_);
    up_ = handed.has_value();
    changed_.notify_all();
  }
  reader.join();
  close_channel();
}

// Settings and all sandboxes, to a new gateway.
Result<void> GatewayClient::hand_over() {
  COVE_TRY(send_settings(channel_.get(), settings_));
  size_t since = 0;
  for (const auto& [sandbox, box] : boxes_) {
    COVE_TRY(hand_over(sandbox, box));
    if (++since % kAttachedAtATime != 0 && since != boxes_.size()) continue;
    uint64_t token = 0;
    {
      std::lock_guard lock(mutex_);
      token = new_token(sandbox);
    }
    COVE_TRY(send_sync(channel_.get(), token, sandbox));
    if (!COVE_TRY(wait_for_synced(token, Clock::now() + kPatience))) return fail(silent());
  }
  return {};
}

Result<void> GatewayClient::hand_over(const std::string& sandbox, const Box& box) {
  if (box.attached) COVE_TRY(send_attach(channel_.get(), sandbox, box.sockets));
  if (box.policy) COVE_TRY(send_policy(channel_.get(), sandbox, box.policy));
  return {};
}

// With `mutex_` held.
void GatewayClient::fail_waiting() {
  up_ = false;
  for (auto& [token, waiting] : waiting_) waiting.failed = !waiting.done;
  changed_.notify_all();
}

void GatewayClient::close_channel() {
  std::lock_guard sending(sending_);
  std::lock_guard lock(mutex_);
  channel_.reset();
  fail_waiting();
  for (auto& [sandbox, box] : boxes_) {
    box.earlier = sum(box.earlier, box.latest);
    box.latest = {};
  }
  if (!stopping_) log::warning("the gateway of the network has ended, and is started again");
}

// --- what the gateway says ------------------------------------------------------------------------------------------

void GatewayClient::read(int channel) {
  for (;;) {
    Result<sys::Message> message = sys::receive_message(channel, wire::kMaxMessage);
    if (!message || message->data.empty()) break;
    take(message->data);
  }
  std::lock_guard lock(mutex_);
  fail_waiting();
}

// What is malformed is ignored.
void GatewayClient::take(const std::string& data) {
  wire::Reader in(data);
  switch (in.type<FromGateway>()) {
    case FromGateway::Entry:
      if (Result<NetworkEntry> entry = decode_entry(in)) listener_->entry(std::move(*entry));
      return;
    case FromGateway::Synced:
      if (Result<Synced> synced = decode_synced(in)) take_synced(*synced);
      return;
    case FromGateway::Request:
      if (Result<AccessRequest> request = decode_request(in))
        listener_->access_requested(request->sandbox, request->host, request->port, request->reason);
      return;
  }
}

void GatewayClient::take_synced(const Synced& synced) {
  std::lock_guard lock(mutex_);
  auto found = waiting_.find(synced.token);
  if (found == waiting_.end()) return;
  Waiting& waiting = found->second;
  waiting.done = true;
  changed_.notify_all();
  if (auto box = boxes_.find(waiting.sandbox); box != boxes_.end()) box->second.latest = synced.counters;
  if (synced.dropped)
    log::warning("entries of the network log were dropped",
                 {{"sandbox", waiting.sandbox}, {"entries", concat(synced.dropped)}});
}

}  // namespace

std::unique_ptr<Gateway> make_gateway_client(std::function<Result<UniqueFd>()> start, GatewaySettings settings,
                                             std::shared_ptr<Gateway::Listener> listener) {
  return std::make_unique<GatewayClient>(std::move(start), std::move(settings), std::move(listener));
}

}  // namespace cove::net
