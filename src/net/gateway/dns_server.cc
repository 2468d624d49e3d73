#include "net/gateway/dns_server.h"

#include <map>

#include "base/text.h"
#include "net/gateway/dns_message.h"
#include "net/gateway/dns_stream.h"
#include "net/gateway/entry_limit.h"
#include "net/gateway/names.h"
#include "net/sockets.h"

namespace cove::net {
namespace {

using dns::Question;
using dns::Record;

constexpr std::chrono::milliseconds kPatience{600};
constexpr size_t kMostPending = 256;
constexpr uint32_t kFixedTtl = 60;  // of the names that never change

// One question that waits for the resolver.
struct Pending {
  Question question;
  DnsServer::Reply reply;
  size_t most = 0;       // bytes of the reply
  uint64_t request = 0;  // at the resolver; 0: it has called
  uint64_t timer = 0;
};

bool is_localhost(const std::string& name) { return name == "localhost" || name.ends_with(".localhost"); }

// Whole zones, all records at once, and what is not of the Internet.
bool is_refused(const Question& question) {
  return question.klass != dns::kInternet || (question.type >= dns::kIxfr && question.type <= dns::kAny);
}

// What a record of that type says of a name that has these addresses.
std::vector<Record> address_records(const Question& question, std::initializer_list<const char*> addresses,
                                    uint32_t ttl) {
  for (const char* text : addresses) {
    auto address = parse_address(text);
    if (address && question.type == (address->is_v4() ? dns::kA : dns::kAaaa))
      return {{question.type, ttl, dns::address_data(*address)}};
  }
  return {};
}

class LiveDnsServer : public DnsServer {
 public:
  LiveDnsServer(SandboxContext& context, Resolver& resolver)
      : context_(context), resolver_(resolver), streams_(context.loop(), *this) {}
  ~LiveDnsServer() override {
    for (auto& [number, pending] : pending_) forget(pending);
  }

  void ask(std::string_view message, Transport transport, Reply reply) override {
    dns::Asked asked = dns::parse_question(message);
    if (!asked.question) {
      if (asked.reply.empty()) return;
      log_refusal("?", "malformed", "what was sent to port 53 is no question of DNS");
      return reply(std::move(asked.reply));
    }
    Question& question = *asked.question;
    if (is_refused(question)) {
      log_refusal(question.name, "protocol",
                  concat("questions of type ", question.type, " and class ", question.klass, " are refused"));
      return reply(dns::reply_to(question, dns::Code::Refused));
    }
    size_t most = transport == Transport::Tcp ? dns::kMostOverTcp : question.udp_size;
    if (auto known = answer_known(question)) return reply(std::move(*known));
    if (!is_eligible(question)) return reply(dns::reply_to(question, dns::Code::NoName));
    look_up(std::move(question), most, std::move(reply));
  }

  void serve(UniqueFd client) override { streams_.add(std::move(client)); }
  void forget_logged() override { entries_.forget_recent(); }

 private:
  // The answer to what never depends on the policy.
  std::optional<std::string> answer_known(const Question& question) {
    const std::string& name = question.name;
    if (name == kInternalName)
      return dns::reply_to(question, dns::Code::NoError, address_records(question, {kGatewayAddress4}, kFixedTtl));
    if (is_localhost(name))
      return dns::reply_to(question, dns::Code::NoError, address_records(question, {"127.0.0.1", "::1"}, kFixedTtl));
    auto address = dns::reversed_address(name);
    if (address && is_synthetic(*address)) return answer_reversed(question, context_.names().name_of(*address));
    return std::nullopt;
  }

  static std::string answer_reversed(const Question& question, const std::string& name) {
    auto data = dns::name_data(name);
    if (!data) return dns::reply_to(question, dns::Code::NoName);
    if (question.type != dns::kPtr) return dns::reply_to(question, dns::Code::NoError);
    return dns::reply_to(question, dns::Code::NoError, {{dns::kPtr, kSyntheticTtl, std::move(*data)}});
  }

  // Decides, and logs the decision. The root and reverse names are no hosts: asked in the full tiers only.
  bool is_eligible(Question& question) {
    std::string& name = question.name;
    if (name.empty() || name.ends_with(".arpa")) {
      bool is_full = context_.rules().is_full();
      if (!is_full)
        log_refusal(name, "protocol", "only addresses that names were answered with can be looked up in reverse");
      return is_full;
    }
    Verdict verdict = decide(question);
    bool denied = verdict.decision == Decision::Deny;
    if (entries_.take(name)) log(name, verdict, denied);
    return !denied;
  }

  Verdict decide(Question& question) {
    auto normal = question.is_host ? normalize_name(question.name) : Result<std::string>(fail(Code::Invalid, ""));
    if (!normal)
      return {.decision = Decision::Deny, .why = concat(question.name, " is not a host's name"), .code = "malformed"};
    question.name = std::move(*normal);
    return context_.decide_lookup(question.name);
  }

  void log(const std::string& name, const Verdict& verdict, bool denied) {
    if (denied) return context_.log_denial({.name = name, .protocol = Protocol::Dns}, verdict);
    NetworkEntry entry;
    entry.stage = NetworkEntry::Stage::Lookup;
    entry.protocol = Protocol::Dns;
    entry.host = name;
    entry.allowed = true;
    entry.rule = verdict.rule;
    entry.layer = verdict.layer;
    entry.why = verdict.why;  // while it learns: what no list names
    entry.code = verdict.code;
    context_.log(std::move(entry));
  }

  void log_refusal(const std::string& name, const char* code, std::string why) {
    Target target = {.name = name.empty() ? "." : name, .protocol = Protocol::Dns};
    if (entries_.take(concat(code, " ", name)))
      context_.log_denial(target, {.decision = Decision::Deny, .why = std::move(why), .code = code});
  }

  void look_up(Question question, size_t most, Reply reply) {
    bool is_address = question.type == dns::kA || question.type == dns::kAaaa;
    bool is_forwarded =
        !is_address && context_.rules().is_full() && question.type != dns::kHttps && question.type != dns::kSvcb;
    if (!is_address && !is_forwarded) return reply(dns::reply_to(question, dns::Code::NoError));
    if (pending_.size() >= kMostPending) return reply(dns::reply_to(question, dns::Code::ServerFailure));

    uint64_t number = ++last_;
    std::string name = question.name;
    uint16_t type = question.type;
    auto& pending = pending_.emplace(number, Pending{std::move(question), std::move(reply), most}).first->second;
    pending.timer = context_.loop().after(kPatience, [this, number] { give_up(number); });
    uint64_t request =
        is_address ? resolver_.resolve(&context_, name, [this, number](auto& found) { settle(number, found); })
                   : resolver_.query(&context_, name, type, [this, number](auto message) { forward(number, message); });
    if (auto still = pending_.find(number); still != pending_.end()) still->second.request = request;
  }

  void settle(uint64_t number, const Resolution& resolution) {
    using Outcome = Resolution::Outcome;
    auto& pending = pending_.at(number);
    if (!pending.reply) return end(number, {});
    switch (resolution.outcome) {
      case Outcome::Found:
        return end(number, synthetic(pending.question));
      case Outcome::NoAddress:
        return end(number, dns::reply_to(pending.question, dns::Code::NoError));
      case Outcome::NoName:
        return end(number, dns::reply_to(pending.question, dns::Code::NoName));
      case Outcome::Failed:
        return end(number, dns::reply_to(pending.question, dns::Code::ServerFailure));
    }
  }

  void forward(uint64_t number, const std::string& answer) {
    auto& pending = pending_.at(number);
    if (!pending.reply) return end(number, {});
    std::string reply = dns::forwarded_reply(pending.question, answer, pending.most);
    end(number, reply.empty() ? dns::reply_to(pending.question, dns::Code::ServerFailure) : reply);
  }

  // There is one address for a name, of IPv4.
  std::string synthetic(const Question& question) {
    if (question.type != dns::kA) return dns::reply_to(question, dns::Code::NoError);
    Address address = context_.names().address_of(question.name);
    return dns::reply_to(question, dns::Code::NoError, {{dns::kA, kSyntheticTtl, dns::address_data(address)}});
  }

  // The resolver is too slow: whether the name exists will be seen when it is connected to. Other records are still
  // waited for. What is answered stays pending until the resolver has called, because it counts.
  void give_up(uint64_t number) {
    auto& pending = pending_.at(number);
    pending.timer = 0;
    if (pending.question.type != dns::kA && pending.question.type != dns::kAaaa) return;
    auto reply = std::exchange(pending.reply, nullptr);
    reply(synthetic(pending.question));
  }

  void end(uint64_t number, std::string message) {
    auto node = pending_.extract(number);
    Pending& pending = node.mapped();
    context_.loop().cancel(pending.timer);
    if (pending.reply) pending.reply(std::move(message));
  }

  void forget(Pending& pending) {
    context_.loop().cancel(pending.timer);
    if (pending.request != 0) resolver_.cancel(pending.request);
  }

  SandboxContext& context_;
  Resolver& resolver_;
  EntryLimit entries_;
  uint64_t last_ = 0;
  std::map<uint64_t, Pending> pending_;
  DnsStreams streams_;
};

}  // namespace

std::unique_ptr<DnsServer> DnsServer::create(SandboxContext& context, Resolver& resolver) {
  return std::make_unique<LiveDnsServer>(context, resolver);
}

}  // namespace cove::net
