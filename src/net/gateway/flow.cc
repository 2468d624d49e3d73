#include "net/gateway/flow.h"

#include "net/gateway/sandbox_network.h"

namespace cove::net {

Flow::Flow(SandboxNetwork& sandbox) : sandbox_(sandbox), number_(sandbox.next_connection()) {}

void Flow::log_opened(const Target& target, const Verdict& verdict) {
  if (opened_) return;
  opened_ = true;
  entry_ = entry_of(NetworkEntry::Stage::Opened, target, verdict);
  entry_.connection = number_;
  sandbox_.count_connection();
  sandbox_.log(entry_);
}

void Flow::log_closed(const std::string& why) {
  if (!opened_ || entry_.stage == NetworkEntry::Stage::Closed) return;
  entry_.stage = NetworkEntry::Stage::Closed;
  entry_.why = why;
  sandbox_.log(entry_);
}

void Flow::log_denied(const Target& target, const Verdict& verdict) {
  sandbox_.log_denial(target, verdict);
  log_closed(verdict.why);
}

void Flow::take_log(Flow& other) {
  entry_ = std::move(other.entry_);
  opened_ = std::exchange(other.opened_, false);
}

void Flow::count_bytes(uint64_t in_bytes, uint64_t out_bytes) {
  entry_.in_bytes += in_bytes;
  entry_.out_bytes += out_bytes;
  sandbox_.count(in_bytes, out_bytes);
}

void Flow::finish() { sandbox_.end(*this); }

}  // namespace cove::net
