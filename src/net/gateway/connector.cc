#include "net/gateway/connector.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/text.h"
#include "net/gateway/socket_address.h"

namespace cove::net {
namespace {

constexpr std::chrono::milliseconds kHeadStart{250};  // of an address over the next one
constexpr size_t kMostTried = 8;

std::string place(const Target& target, const Address& address) {
  std::string text = to_text(address);
  return target.name.empty() ? text : concat(target.name, " (", text, ")");
}

class LiveConnector : public Connector {
 public:
  LiveConnector(SandboxContext& context, Resolver& resolver, Target target, Done done)
      : context_(context),
        loop_(context.loop()),
        resolver_(resolver),
        target_(std::move(target)),
        done_(std::move(done)) {}

  ~LiveConnector() override { stop(); }

  void start() {
    deadline_ = loop_.after(kPatience, [this] { end_with(Error(Code::Unavailable, concat(what(), ": timed out"))); });
    // Not at once: the caller does not have this object yet.
    next_ = loop_.after(std::chrono::milliseconds(0), [this] { look_up(); });
  }

 private:
  struct Attempt {
    UniqueFd fd;
    Address address;
  };

  std::string what() const {
    std::string host = !target_.name.empty() ? target_.name : target_.address ? to_text(*target_.address) : "";
    return concat("connect to ", host, " port ", target_.port);
  }

  void look_up() {
    if (target_.name.empty()) {
      if (target_.address) return try_addresses({*target_.address});
      return end_with(Error(Code::Invalid, concat(what(), ": there is no name and no address")));
    }
    lookup_ = resolver_.resolve(&context_, target_.name, [this](const Resolution& resolution) {
      lookup_ = 0;
      if (resolution.outcome == Resolution::Outcome::Found) return try_addresses(resolution.addresses);
      auto code = resolution.outcome == Resolution::Outcome::Failed ? Code::Unavailable : Code::NotFound;
      end_with(Error(code, concat(what(), ": ", resolution.why)));
    });
  }

  void try_addresses(const std::vector<Address>& addresses) {
    version_ = context_.policy().version;
    for (const auto& address : addresses) {
      Verdict verdict = context_.check_resolved(target_, address);
      if (verdict.decision != Decision::Deny)
        waiting_.push_back(address);
      else if (!denied_)
        denied_ = std::move(verdict);
    }
    if (waiting_.empty() && denied_) return end_denied();
    waiting_.resize(std::min(waiting_.size(), kMostTried));
    std::reverse(waiting_.begin(), waiting_.end());
    try_next();
  }

  // The policy may be another than when the address was checked.
  bool is_still_allowed(const Address& address) {
    if (context_.policy().version == version_) return true;
    Verdict verdict = context_.check_resolved(target_, address);
    if (verdict.decision != Decision::Deny) return true;
    denied_ = std::move(verdict);
    return false;
  }

  // Begins attempts until one is under way.
  void try_next() {
    loop_.cancel(next_);
    while (!waiting_.empty()) {
      Address address = waiting_.back();
      waiting_.pop_back();
      if (!is_still_allowed(address)) continue;
      auto begun = begin(address);
      if (!begun) {
        last_ = std::move(begun).error();
        continue;
      }
      next_ = loop_.after(kHeadStart, [this] { try_next(); });
      return;
    }
    if (!attempts_.empty()) return;
    if (denied_ && !last_) return end_denied();
    end_with(last_.value_or(Error(Code::Unavailable, what())));
  }

  Result<void> begin(const Address& address) {
    const SocketAddress to(address, target_.port);
    UniqueFd fd(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return fail_errno(concat(what(), ": socket"));
    int number = fd.get();
    if (::connect(number, to.get(), to.size()) < 0 && errno != EINPROGRESS)
      return fail_errno(concat("connect to ", place(target_, address), " port ", target_.port));
    COVE_TRY(loop_.add(number, EPOLLOUT, [this, number](uint32_t) { settle(number); }));
    attempts_.emplace(number, Attempt{std::move(fd), address});
    return {};
  }

  void settle(int fd) {
    auto found = attempts_.find(fd);
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
    loop_.remove(fd);
    Attempt attempt = std::move(found->second);
    attempts_.erase(found);
    if (error == 0 && !is_still_allowed(attempt.address)) return end_denied();
    if (error == 0) return end(Connected{std::move(attempt.fd), attempt.address});
    last_ = Error::from_errno(error, concat("connect to ", place(target_, attempt.address), " port ", target_.port));
    try_next();
  }

  void end_denied() {
    const std::string why = denied_->why;
    end({std::move(denied_), Error(Code::Denied, concat(what(), ": ", why))});
  }
  void end_with(Error error) { end(ConnectFailure{std::nullopt, std::move(error)}); }
  // Not at once: the resolver may be calling, and `done` may destroy this.
  void end(ConnectFailure failure) {
    stop();
    next_ = loop_.after(std::chrono::milliseconds(0),
                        [this, failure = std::move(failure)] { call(std::unexpected(failure)); });
  }
  void end(Connected connected) {
    stop();
    call(std::move(connected));
  }
  void stop() {
    loop_.cancel(next_);
    loop_.cancel(deadline_);
    for (auto& [fd, attempt] : attempts_) loop_.remove(fd);
    attempts_.clear();
    if (lookup_ != 0) resolver_.cancel(std::exchange(lookup_, 0));
  }
  void call(std::expected<Connected, ConnectFailure> result) {
    auto done = std::move(done_);
    done(std::move(result));
  }

  SandboxContext& context_;
  Loop& loop_;
  Resolver& resolver_;
  Target target_;
  Done done_;
  uint64_t version_ = 0;  // of the policy that the addresses were checked by
  uint64_t lookup_ = 0;
  uint64_t next_ = 0;
  uint64_t deadline_ = 0;
  std::vector<Address> waiting_;  // the next one last
  std::map<int, Attempt> attempts_;
  std::optional<Verdict> denied_;
  std::optional<Error> last_;
};

}  // namespace

std::unique_ptr<Connector> Connector::start(SandboxContext& context, Resolver& resolver, Target target, Done done) {
  auto connector = std::make_unique<LiveConnector>(context, resolver, std::move(target), std::move(done));
  connector->start();
  return connector;
}

}  // namespace cove::net
