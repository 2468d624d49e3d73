#include "net/gateway_client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace cove::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a gateway was told, and what it answers.
class FakeGateway {
 public:
  struct Box {
    size_t sockets = 0;
    uint64_t there = 0;
    std::optional<EffectivePolicy> policy;
  };
  ~FakeGateway() {
    for (std::thread& thread : threads_) thread.join();
  }

  Result<UniqueFd> start() {
    ++starts;
    if (refuse) return fail(Code::NotFound, "no such program");
    sys::SocketPair pair = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
    if (die_at_once-- > 0) return std::move(pair.first);
    std::lock_guard lock(mutex_);
    boxes_.clear();
    threads_.emplace_back([this, own = std::move(pair.second)] { run(own.get()); });
    return std::move(pair.first);
  }
  std::map<std::string, Box> boxes() {
    std::lock_guard lock(mutex_);
    return boxes_;
  }

  std::atomic<int> starts = 0;
  std::atomic<bool> refuse = false;
  std::atomic<int> die_at_once = 0;
  std::atomic<int> die_at_sync = 0;
  std::vector<std::string> before_synced;  // messages sent in front of each Synced
  NetworkCounters counters;
  std::vector<std::string> resolvers;
  std::atomic<bool> all_were_sealed = true;

 private:
  void run(int channel) {
    for (;;) {
      Result<sys::Message> message = sys::receive_message(channel, wire::kMaxMessage);
      if (!message || message->data.empty()) return;
      wire::Reader in(message->data);
      const auto type = in.type<ToGateway>();
      if (type == ToGateway::Sync) {
        if (die_at_sync-- > 0) return;
        answer(channel, in.number());
      } else {
        take(type, in, message->fds);
      }
    }
  }
  void take(ToGateway type, wire::Reader& in, const std::vector<UniqueFd>& fds) {
    std::lock_guard lock(mutex_);
    if (type == ToGateway::Settings) {
      const std::string text = sys::read_all(fds.at(0).get()).value();
      wire::Reader settings(text);
      resolvers = decode_settings(settings).value().resolvers;
      return;
    }
    const std::string sandbox = in.text();
    if (type == ToGateway::Detach) boxes_.erase(sandbox);
    if (type == ToGateway::Attach) {
      boxes_[sandbox].sockets = fds.size();
      in.number();
      boxes_[sandbox].there = in.number();
    }
    if (type == ToGateway::Policy) boxes_[sandbox].policy = read_policy(fds.at(0).get());
  }
  std::optional<EffectivePolicy> read_policy(int fd) {
    constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    if (::fcntl(fd, F_GET_SEALS) != kSeals || ::write(fd, "x", 1) >= 0) all_were_sealed = false;
    const std::string text = sys::read_all(fd).value();
    wire::Reader in(text);
    Result<EffectivePolicy> policy = decode_policy(in);
    return policy ? std::optional(*policy) : std::nullopt;
  }
  void answer(int channel, uint64_t token) {
    for (const std::string& message : before_synced) EXPECT_TRUE(sys::send_message(channel, message));
    wire::Writer synced(FromGateway::Synced);
    synced.number(token).number(counters.in_bytes).number(counters.out_bytes).number(counters.connections).number(0);
    (void)sys::send_message(channel, synced.data());
  }

  std::mutex mutex_;
  std::map<std::string, Box> boxes_;
  std::vector<std::thread> threads_;
};

struct Heard : Gateway::Listener {
  void entry(NetworkEntry entry) override { hosts.push_back(entry.host); }
  void access_requested(const std::string& sandbox, const std::string& host, uint16_t port,
                        const std::string& reason) override {
    requests.push_back(concat(sandbox, " ", host, ":", port, " ", reason));
  }
  std::vector<std::string> hosts;
  std::vector<std::string> requests;
};

class GatewayClientTest : public ::testing::Test {
 protected:
  static NetworkSockets sockets() {
    NetworkSockets sockets;
    for (int i : {NetworkSockets::kTcp4, NetworkSockets::kUdp4, NetworkSockets::kRaw4})
      sockets.fds[static_cast<size_t>(i)] = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return sockets;
  }
  static EffectivePolicy policy(uint64_t version) {
    return {.version = version, .secrets = {{"T", "p", "the value", {"example.org"}, {"authorization"}}}};
  }
  static std::string entry(const std::string& host) {
    wire::Writer out(FromGateway::Entry);
    encode(out, NetworkEntry{.sandbox = "a", .host = host});
    return out.data();
  }

  FakeGateway fake_;
  std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  std::unique_ptr<Gateway> gateway_ =
      make_gateway_client([this] { return fake_.start(); }, {.resolvers = {"192.0.2.1:53"}}, heard_);
};

TEST_F(GatewayClientTest, StartsTheGatewayWhenItIsNeeded) {
  EXPECT_EQ(fake_.starts, 0);
  ASSERT_TRUE(gateway_->attach("a", sockets()));
  ASSERT_TRUE(gateway_->set_policy("a", policy(1)));
  EXPECT_EQ(fake_.starts, 1);
  const FakeGateway::Box box = fake_.boxes()["a"];
  EXPECT_THAT(fake_.resolvers, ElementsAre("192.0.2.1:53"));
  EXPECT_EQ(box.sockets, 3u);
  EXPECT_EQ(box.there, 0b10101u);
  EXPECT_EQ(box.policy, policy(1));
  EXPECT_TRUE(fake_.all_were_sealed);
}

TEST_F(GatewayClientTest, ReplacesAPolicyAndDetaches) {
  ASSERT_TRUE(gateway_->attach("a", sockets()));
  ASSERT_TRUE(gateway_->attach("b", sockets()));
  ASSERT_TRUE(gateway_->set_policy("a", policy(1)));
  ASSERT_TRUE(gateway_->set_policy("a", policy(2)));
  EXPECT_EQ(fake_.boxes()["a"].policy->version, 2u);
  gateway_->detach("a");
  ASSERT_TRUE(gateway_->sync("b"));
  EXPECT_FALSE(fake_.boxes().contains("a"));
  EXPECT_EQ(gateway_->sync("a").error().code(), Code::NotFound);
}

TEST_F(GatewayClientTest, PassesEntriesInOrderBeforeASyncReturns) {
  fake_.before_synced = {entry("one"), entry("two")};
  fake_.counters = {1, 2, 3};
  ASSERT_TRUE(gateway_->attach("a", sockets()));
  Result<NetworkCounters> counters = gateway_->sync("a");
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->in_bytes, 1u);
  EXPECT_EQ(counters->out_bytes, 2u);
  EXPECT_EQ(counters->connections, 3u);
  // Those of handing the sandbox over, and of this call.
  EXPECT_THAT(heard_->hosts, ElementsAre("one", "two", "one", "two"));
}

TEST_F(GatewayClientTest, PassesRequestsForAccess) {
  wire::Writer request(FromGateway::Request), broken(FromGateway::Request);
  request.text("a").text("example.org").number(443).text("to install");
  broken.text("a").text("example.org\n").number(443).text("");
  fake_.before_synced = {request.data(), broken.data()};
  ASSERT_TRUE(gateway_->attach("a", sockets()));
  ASSERT_TRUE(gateway_->sync("a"));
  EXPECT_THAT(heard_->requests, ElementsAre("a example.org:443 to install", "a example.org:443 to install"));
}

TEST_F(GatewayClientTest, IgnoresWhatIsMalformed) {
  wire::Writer unknown(static_cast<FromGateway>(99)), synced(FromGateway::Synced);
  synced.number(1);
  wire::Writer other(FromGateway::Synced);
  other.number(~0ull).number(0).number(0).number(0).number(0);
  fake_.before_synced = {
      "x", unknown.data(), synced.data(), other.data(), entry("one").substr(0, 60), std::string(1000, '\xff')};
  ASSERT_TRUE(gateway_->attach("a", sockets()));
  ASSERT_TRUE(gateway_->sync("a"));
  EXPECT_TRUE(heard_->hosts.empty());
  EXPECT_EQ(fake_.starts, 1);
}

TEST_F(GatewayClientTest, HandsEverythingToTheNextGateway) {
  constexpr int kSandboxes = 200;
  for (int i = 0; i < kSandboxes; ++i) {
    ASSERT_TRUE(gateway_->attach(concat("box-", i), sockets()));
    ASSERT_TRUE(gateway_->set_policy(concat("box-", i), policy(static_cast<uint64_t>(i))));
  }
  EXPECT_EQ(fake_.starts, 1);
  fake_.die_at_sync = 1;
  ASSERT_TRUE(gateway_->sync("box-7"));
  EXPECT_EQ(fake_.starts, 2);
  const std::map<std::string, FakeGateway::Box> boxes = fake_.boxes();
  ASSERT_EQ(boxes.size(), static_cast<size_t>(kSandboxes));
  for (int i = 0; i < kSandboxes; ++i) {
    const FakeGateway::Box& box = boxes.at(concat("box-", i));
    EXPECT_EQ(box.sockets, 3u);
    EXPECT_EQ(box.policy->version, static_cast<uint64_t>(i));
  }
}

TEST_F(GatewayClientTest, SurvivesDeathsInTheMiddleOfHandingOver) {
  ASSERT_TRUE(gateway_->attach("a", sockets()));
  ASSERT_TRUE(gateway_->set_policy("a", policy(1)));
  fake_.die_at_sync = 4;  // of the call, and three of new gateways
  ASSERT_TRUE(gateway_->set_policy("a", policy(2)));
  EXPECT_EQ(fake_.boxes()["a"].policy->version, 2u);
  EXPECT_EQ(fake_.starts, 5);
}

TEST_F(GatewayClientTest, SurvivesGatewaysThatDieAtOnce) {
  fake_.die_at_once = 5;
  ASSERT_TRUE(gateway_->attach("a", sockets()));
  ASSERT_TRUE(gateway_->set_policy("a", policy(1)));
  EXPECT_EQ(fake_.starts, 6);
}

TEST_F(GatewayClientTest, AddsUpTheCountersOfAllGateways) {
  fake_.counters = {10, 20, 1};
  ASSERT_TRUE(gateway_->attach("a", sockets()));
  ASSERT_TRUE(gateway_->sync("a"));
  fake_.die_at_sync = 1;
  Result<NetworkCounters> counters = gateway_->sync("a");
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->in_bytes, 20u);
  EXPECT_EQ(counters->connections, 2u);
}

TEST_F(GatewayClientTest, SaysWhyThereIsNoGateway) {
  fake_.refuse = true;
  ASSERT_TRUE(gateway_->attach("a", sockets()));
  Result<void> set = gateway_->set_policy("a", policy(1));
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code(), Code::Unavailable);
  EXPECT_THAT(set.error().message(), HasSubstr("no such program"));
  fake_.refuse = false;
  while (!gateway_->sync("a")) {
  }
  EXPECT_EQ(fake_.boxes()["a"].policy->version, 1u);
}

TEST_F(GatewayClientTest, ServesManyThreadsWhileGatewaysDie) {
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      const std::string name = concat("box-", i);
      if (!gateway_->attach(name, sockets())) ++failures;
      for (uint64_t version = 1; version <= 50; ++version) {
        if (i == 0 && version % 10 == 0) fake_.die_at_sync = 1;
        if (!gateway_->set_policy(name, policy(version))) ++failures;
      }
      if (i % 2) gateway_->detach(name);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  ASSERT_TRUE(gateway_->sync("box-0"));
  const std::map<std::string, FakeGateway::Box> boxes = fake_.boxes();
  ASSERT_EQ(boxes.size(), 4u);
  for (const auto& [name, box] : boxes) EXPECT_EQ(box.policy->version, 50u) << name;
}

TEST_F(GatewayClientTest, EndsWhileAGatewayIsStarting) {
  fake_.refuse = true;
  ASSERT_TRUE(gateway_->attach("a", sockets()));
  gateway_.reset();
}

}  // namespace
}  // namespace cove::net
