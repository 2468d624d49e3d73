#include "net/gateway/resolver.h"

#include <ares.h>
#include <sys/epoll.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "net/gateway/dns_message.h"
#include "net/gateway/resolution_cache.h"

namespace cove::net {
namespace {

using Clock = Loop::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTimeout{1500};  // of one try; doubled with each round of all servers
constexpr int kTries = 3;
constexpr size_t kMostLookups = 8192;
constexpr seconds kShortest{1};
constexpr seconds kLongest{3600};
constexpr seconds kNegative{5};
// How long addresses of one family wait for those of the other.
constexpr milliseconds kOtherFamily{50};

struct ChannelDeleter {
  void operator()(ares_channeldata* channel) const { ares_destroy(channel); }
};
using Channel = std::unique_ptr<ares_channeldata, ChannelDeleter>;

std::string failure_text(const std::string& name, int status) {
  return concat("cannot look up ", name, ": ", std::string_view(ares_strerror(status)));
}

// One name that is being looked up, for all who wait for it.
struct Lookup {
  std::string name;
  uint64_t number = 0;
  const void* owner = nullptr;
  std::vector<std::pair<uint64_t, Resolver::Done>> waiting;
  std::vector<Address> v4, v6;
  uint32_t ttl = UINT32_MAX;
  int open = 2;  // queries
  bool no_name = false;
  int failure = ARES_SUCCESS;
  uint64_t timer = 0;
};

class CaresResolver : public Resolver {
 public:
  explicit CaresResolver(Loop& loop) : loop_(loop) {}
  ~CaresResolver() override {
    loop_.cancel(timer_);
    loop_.cancel(answer_timer_);
    for (auto& [name, lookup] : lookups_) loop_.cancel(lookup.timer);
    ending_ = true;
    channel_.reset();  // calls back for all that is open
  }

  Result<void> start() {
    ares_options options = {};
    in_addr none = {};
    char lookups[] = "b";  // servers only, not /etc/hosts
    options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS;
    options.timeout = static_cast<int>(kTimeout.count());
    options.tries = kTries;
    options.ndots = 1;
    options.servers = &none;
    options.nservers = 1;
    options.lookups = lookups;
    options.ednspsz = dns::kOwnUdpSize;
    options.sock_state_cb = [](void* self, int fd, int reads, int writes) {
      static_cast<CaresResolver*>(self)->watch(fd, reads, writes);
    };
    options.sock_state_cb_data = this;
    // With all of these given, c-ares reads no file of the configuration.
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_SERVERS |
               ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_SORTLIST | ARES_OPT_EDNSPSZ | ARES_OPT_SOCK_STATE_CB;
    ares_channel channel = nullptr;
    if (int status = ares_init_options(&channel, &options, mask); status != ARES_SUCCESS)
      return fail(Code::Internal, concat("start the resolver: ", std::string_view(ares_strerror(status))));
    channel_.reset(channel);
    return {};
  }

  Result<void> use_servers(const std::vector<std::string>& servers) override {
    ares_cancel(channel_.get());
    cache_.clear();
    std::string list = join(servers, ",");
    if (servers.empty()) return fail(Error(Code::Invalid, "no DNS server is known").hint("set network.resolvers"));
    int status = ares_set_servers_ports_csv(channel_.get(), list.c_str());
    if (status != ARES_SUCCESS) return fail(Code::Invalid, concat("not a list of DNS servers: ", list));
    return {};
  }

  uint64_t resolve(const void* owner, const std::string& name, Done done) override {
    if (const Resolution* kept = cache_.find(name)) return done(Resolution(*kept)), 0;
    auto found = lookups_.find(name);
    if (found == lookups_.end()) {
      if (!admit(owner)) {
        done({.outcome = Resolution::Outcome::Failed, .addresses = {}, .why = "too many lookups at once"});
        return 0;
      }
      found = begin(owner, name);
    }
    found->second.waiting.emplace_back(++last_, std::move(done));
    waiting_.emplace(last_, name);
    return last_;
  }

  uint64_t query(const void* owner, const std::string& name, uint16_t type, Answered answered) override {
    if (!admit(owner)) return answered({}), 0;
    uint64_t number = ++last_;
    queries_.emplace(number, std::pair(owner, std::move(answered)));
    auto* call = new QueryCall{this, number};
    ares_query(channel_.get(), name.c_str(), dns::kInternet, type, on_answer, call);
    arm();
    return number;
  }

  void cancel(uint64_t request) override {
    if (auto query = queries_.find(request); query != queries_.end()) query->second.second = nullptr;
    auto found = waiting_.find(request);
    if (found == waiting_.end()) return;
    if (auto lookup = lookups_.find(found->second); lookup != lookups_.end())
      std::erase_if(lookup->second.waiting, [&](auto& waiter) { return waiter.first == request; });
    waiting_.erase(found);
  }

 private:
  using Lookups = std::map<std::string, Lookup>;
  struct LookupCall {
    CaresResolver* self;
    std::string name;
    uint64_t number;  // the name may be looked up again before a late answer comes
    uint16_t type;
  };
  struct QueryCall {
    CaresResolver* self;
    uint64_t number;
  };

  bool admit(const void* owner) {
    size_t& open = open_of_[owner];
    if (open >= kMostOfOwner || open_ >= kMostLookups) {
      if (open == 0) open_of_.erase(owner);
      return false;
    }
    ++open;
    ++open_;
    return true;
  }
  void release(const void* owner) {
    --open_;
    if (auto found = open_of_.find(owner); --found->second == 0) open_of_.erase(found);
  }

  Lookups::iterator begin(const void* owner, const std::string& name) {
    auto lookup = lookups_.emplace(name, Lookup{.name = name, .number = ++last_, .owner = owner}).first;
    for (uint16_t type : {dns::kA, dns::kAaaa})
      ares_query(channel_.get(), name.c_str(), dns::kInternet, type, on_addresses,
                 new LookupCall{this, name, lookup->second.number, type});
    arm();
    return lookup;
  }

  static void on_addresses(void* argument, int status, int, unsigned char* answer, int size) {
    std::unique_ptr<LookupCall> call(static_cast<LookupCall*>(argument));
    if (call->self->ending_) return;
    std::string_view message(reinterpret_cast<const char*>(answer), answer ? static_cast<size_t>(size) : 0);
    call->self->take_addresses(*call, status, message);
  }

  void take_addresses(const LookupCall& call, int status, std::string_view message) {
    auto found = lookups_.find(call.name);
    if (found == lookups_.end() || found->second.number != call.number) return;
    Lookup& lookup = found->second;
    --lookup.open;
    note_answer(lookup, call.type, status, message);
    bool has_some = !lookup.v4.empty() || !lookup.v6.empty();
    if (lookup.open == 0 || lookup.no_name)
      finish_later(lookup, milliseconds(0));
    else if (has_some)
      finish_later(lookup, kOtherFamily);
  }

  static void note_answer(Lookup& lookup, uint16_t type, int status, std::string_view message) {
    if (status == ARES_ENOTFOUND) lookup.no_name = true;
    if (status == ARES_ENOTFOUND || status == ARES_ENODATA) return;
    auto answer = dns::parse_addresses(message, lookup.name, type);
    if (status == ARES_SUCCESS && (!answer || answer->code != dns::Code::NoError)) status = ARES_EBADRESP;
    if (status != ARES_SUCCESS) {
      lookup.failure = status;
      return;
    }
    if (answer->addresses.empty()) return;
    lookup.ttl = std::min(lookup.ttl, answer->ttl);
    (type == dns::kA ? lookup.v4 : lookup.v6) = std::move(answer->addresses);
  }

  // c-ares may call back from within a call of its own, where it must not be called: hence never at once.
  void finish_later(Lookup& lookup, milliseconds time) {
    loop_.cancel(lookup.timer);
    lookup.timer = loop_.after(time, [this, name = lookup.name] { finish(name); });
  }

  void finish(const std::string& name) {
    auto node = lookups_.extract(name);
    Lookup& lookup = node.mapped();
    release(lookup.owner);
    Resolution resolution = resolution_of(lookup);
    if (resolution.outcome == Resolution::Outcome::Found)
      cache_.put(name, resolution, std::clamp(seconds(lookup.ttl), kShortest, kLongest));
    else if (resolution.outcome != Resolution::Outcome::Failed)
      cache_.put(name, resolution, kNegative);
    for (auto& [number, done] : lookup.waiting) {
      // Who was called before may have cancelled those behind it.
      if (waiting_.erase(number) != 0) done(resolution);
    }
  }

  static Resolution resolution_of(const Lookup& lookup) {
    using Outcome = Resolution::Outcome;
    Resolution resolution;
    resolution.addresses = lookup.v4;
    resolution.addresses.insert(resolution.addresses.end(), lookup.v6.begin(), lookup.v6.end());
    if (!resolution.addresses.empty())
      resolution.outcome = Outcome::Found;
    else if (lookup.no_name)
      resolution = {Outcome::NoName, {}, concat("no such name: ", lookup.name)};
    else if (lookup.failure != ARES_SUCCESS)
      resolution = {Outcome::Failed, {}, failure_text(lookup.name, lookup.failure)};
    else
      resolution = {Outcome::NoAddress, {}, concat(lookup.name, " has no address")};
    return resolution;
  }

  static void on_answer(void* argument, int, int, unsigned char* answer, int size) {
    std::unique_ptr<QueryCall> call(static_cast<QueryCall*>(argument));
    CaresResolver& self = *call->self;
    if (self.ending_) return;
    std::string message(reinterpret_cast<const char*>(answer), answer ? static_cast<size_t>(size) : 0);
    self.answers_.emplace_back(call->number, std::move(message));
    if (self.answers_.size() == 1)
      self.answer_timer_ = self.loop_.after(milliseconds(0), [&self] { self.hand_out_answers(); });
  }

  void hand_out_answers() {
    auto answers = std::exchange(answers_, {});
    for (auto& [number, message] : answers) {
      auto query = queries_.extract(number);
      release(query.mapped().first);
      if (query.mapped().second) query.mapped().second(std::move(message));
    }
  }

  void watch(int fd, int reads, int writes) {
    uint32_t events = (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u);
    if (events == 0) {
      loop_.remove(fd);
      watched_.erase(fd);
    } else if (watched_.contains(fd)) {
      loop_.change(fd, events);
    } else if (loop_.add(fd, events, [this, fd](uint32_t ready) { process(fd, ready); })) {
      watched_.emplace(fd, true);
    }
  }

  void process(int fd, uint32_t ready) {
    bool failed = ready & (EPOLLERR | EPOLLHUP);
    ares_process_fd(channel_.get(), failed || ready & EPOLLIN ? fd : ARES_SOCKET_BAD,
                    failed || ready & EPOLLOUT ? fd : ARES_SOCKET_BAD);
    arm();
  }

  // Wakes c-ares up when its next query times out.
  void arm() {
    loop_.cancel(timer_);
    timeval left = {};
    if (!ares_timeout(channel_.get(), nullptr, &left)) return;
    auto time = seconds(left.tv_sec) + std::chrono::microseconds(left.tv_usec);
    timer_ = loop_.after(std::chrono::ceil<milliseconds>(time), [this] {
      ares_process_fd(channel_.get(), ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      arm();
    });
  }

  Loop& loop_;
  bool ending_ = false;
  uint64_t timer_ = 0;
  uint64_t answer_timer_ = 0;
  uint64_t last_ = 0;
  size_t open_ = 0;
  std::unordered_map<const void*, size_t> open_of_;
  ResolutionCache cache_;
  Lookups lookups_;
  std::unordered_map<uint64_t, std::string> waiting_;  // the name that a request waits for
  std::unordered_map<uint64_t, std::pair<const void*, Answered>> queries_;
  std::vector<std::pair<uint64_t, std::string>> answers_;
  std::unordered_map<int, bool> watched_;
  Channel channel_;
};

}  // namespace

Result<std::unique_ptr<Resolver>> Resolver::create(Loop& loop) {
  if (int status = ares_library_init(ARES_LIB_INIT_ALL); status != ARES_SUCCESS)
    return fail(Code::Internal, concat("start the resolver: ", std::string_view(ares_strerror(status))));
  auto resolver = std::make_unique<CaresResolver>(loop);
  COVE_TRY(resolver->start());
  return resolver;
}

}  // namespace cove::net
