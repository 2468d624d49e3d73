#include "engine/network/testing.h"

#include "base/text.h"

namespace cove::engine {

class FakeNet::Gateway : public net::Gateway {
 public:
  explicit Gateway(std::shared_ptr<FakeNet> net) : net_(std::move(net)) {}
  ~Gateway() override {
    std::lock_guard lock(net_->mutex_);
    net_->listener_.reset();
  }
  Result<void> attach(const std::string& sandbox, NetworkSockets sockets) override {
    std::lock_guard lock(net_->mutex_);
    if (net_->attach_error_) return fail(*net_->attach_error_);
    if (!sockets.fds[NetworkSockets::kTcp4]) return fail(Code::Invalid, "there is no socket");
    net_->boxes_[sandbox].attached = true;
    return {};
  }
  Result<void> set_policy(const std::string& sandbox, const net::EffectivePolicy& policy) override {
    std::lock_guard lock(net_->mutex_);
    if (net_->policy_error_) return fail(*net_->policy_error_);
    Box& box = net_->boxes_[sandbox];
    box.policy = policy;
    ++box.policies;
    return {};
  }
  void detach(const std::string& sandbox) override {
    std::lock_guard lock(net_->mutex_);
    net_->boxes_.erase(sandbox);
  }
  Result<net::NetworkCounters> sync(const std::string& sandbox) override {
    std::lock_guard lock(net_->mutex_);
    ++net_->syncs_;
    return net_->boxes_[sandbox].counters;
  }

 private:
  std::shared_ptr<FakeNet> net_;
};

MakeGateway FakeNet::maker() {
  return [self = shared_from_this()](
             std::shared_ptr<net::Gateway::Listener> listener) -> Result<std::unique_ptr<net::Gateway>> {
    std::lock_guard lock(self->mutex_);
    self->listener_ = std::move(listener);
    return std::make_unique<Gateway>(self);
  };
}

void FakeNet::begin_anew() {
  std::lock_guard lock(mutex_);
  boxes_.clear();
}

bool FakeNet::attached(const std::string& sandbox) const {
  std::lock_guard lock(mutex_);
  auto found = boxes_.find(sandbox);
  return found != boxes_.end() && found->second.attached;
}

std::optional<net::EffectivePolicy> FakeNet::policy(const std::string& sandbox) const {
  std::lock_guard lock(mutex_);
  auto found = boxes_.find(sandbox);
  return found != boxes_.end() && found->second.attached ? found->second.policy : std::nullopt;
}

size_t FakeNet::policies_set(const std::string& sandbox) const {
  std::lock_guard lock(mutex_);
  auto found = boxes_.find(sandbox);
  return found == boxes_.end() ? 0 : found->second.policies;
}

size_t FakeNet::syncs() const {
  std::lock_guard lock(mutex_);
  return syncs_;
}

void FakeNet::refuse_attach(std::optional<Error> error) {
  std::lock_guard lock(mutex_);
  attach_error_ = std::move(error);
}

void FakeNet::refuse_policy(std::optional<Error> error) {
  std::lock_guard lock(mutex_);
  policy_error_ = std::move(error);
}

void FakeNet::set_counters(const std::string& sandbox, net::NetworkCounters counters) {
  std::lock_guard lock(mutex_);
  boxes_[sandbox].counters = counters;
}

void FakeNet::tell(net::NetworkEntry entry) {
  std::shared_ptr<net::Gateway::Listener> listener;
  {
    std::lock_guard lock(mutex_);
    listener = listener_;
  }
  if (listener) listener->entry(std::move(entry));
}

void FakeNet::ask_for_access(const std::string& sandbox, const std::string& host, uint16_t port,
                             const std::string& reason) {
  std::shared_ptr<net::Gateway::Listener> listener;
  {
    std::lock_guard lock(mutex_);
    listener = listener_;
  }
  if (listener) listener->access_requested(sandbox, host, port, reason);
}

net::NetworkEntry FakeNet::denied(const std::string& sandbox, const std::string& host, uint16_t port,
                                  const std::string& layer, const std::string& code) {
  net::NetworkEntry entry;
  entry.sandbox = sandbox;
  entry.stage = net::NetworkEntry::Stage::Denied;
  entry.host = host;
  entry.port = port;
  entry.layer = layer;
  entry.code = code;
  entry.why = concat(host, ":", port, " is not on the allow list of the ", layer);
  return entry;
}

net::NetworkEntry FakeNet::opened(const std::string& sandbox, const std::string& host, uint16_t port,
                                  const std::string& rule, uint64_t connection) {
  net::NetworkEntry entry;
  entry.sandbox = sandbox;
  entry.connection = connection;
  entry.stage = net::NetworkEntry::Stage::Opened;
  entry.host = host;
  entry.port = port;
  entry.allowed = true;
  entry.rule = rule;
  return entry;
}

net::NetworkEntry FakeNet::closed(const std::string& sandbox, uint64_t connection) {
  net::NetworkEntry entry;
  entry.sandbox = sandbox;
  entry.connection = connection;
  entry.stage = net::NetworkEntry::Stage::Closed;
  entry.allowed = true;
  return entry;
}

}  // namespace cove::engine
