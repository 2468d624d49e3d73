#include "engine/network/network_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "engine/network/learned_rules.h"
#include "engine/network/request_book.h"
#include "engine/network/testing.h"
#include "net/groups.h"

namespace cove::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

bool is_readable(int fd) {
  pollfd polled = {fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

net::NetworkEntry with_address(net::NetworkEntry entry, const std::string& address) {
  entry.address = address;
  return entry;
}

TEST(NetworkLogOfASandbox, KeepsTheNewestEntries) {
  NetworkLog log(100);
  EXPECT_EQ(log.last(), 100u);
  for (size_t i = 0; i < Networks::kKeptEntries + 3; ++i) log.add(FakeNet::denied("s", "a.example", 443));
  std::vector<NetworkLog::Entry> all = log.after(0, SIZE_MAX);
  EXPECT_EQ(all.size(), Networks::kKeptEntries);
  EXPECT_EQ(all.front().seq, 104u);
  EXPECT_EQ(all.back().seq, log.last());
  EXPECT_EQ(log.after(log.last() - 2, 1).front().seq, log.last() - 1);
  EXPECT_TRUE(log.after(log.last(), 10).empty());
}

TEST(NetworkLogOfASandbox, WakesItsFollowers) {
  NetworkLog log(0);
  auto follower = log.follow().value();
  EXPECT_FALSE(is_readable(follower->fd.get()));
  log.add(FakeNet::denied("s", "a.example", 443));
  EXPECT_TRUE(is_readable(follower->fd.get()));
  auto another = log.follow().value();
  EXPECT_FALSE(is_readable(another->fd.get()));
  log.end();
  EXPECT_TRUE(is_readable(another->fd.get()));
}

TEST(DenialRule, IsExactlyWhatWasWanted) {
  EXPECT_EQ(rule_for(FakeNet::denied("s", "A.example.", 443)), "a.example:443");
  EXPECT_EQ(rule_for(FakeNet::denied("s", "192.0.2.7", 22, "sandbox", "needs_name")), "192.0.2.7/32:22");
  EXPECT_EQ(rule_for(FakeNet::denied("s", "2001:db8::7", 22, "sandbox", "needs_name")), "[2001:db8::7]/128:22");
  net::NetworkEntry lookup = FakeNet::denied("s", "a.example", 53);
  lookup.protocol = net::Protocol::Dns;
  EXPECT_EQ(rule_for(lookup), "a.example");
}

TEST(DenialRule, OfAPrivateAddressNamesTheAddress) {
  net::NetworkEntry entry = FakeNet::denied("s", "inside.example", 80, "sandbox", "private_address");
  EXPECT_EQ(rule_for(with_address(entry, "10.0.0.5")), "10.0.0.5/32:80");
  EXPECT_EQ(rule_for(entry), "") << "which address it was is not known";
}

TEST(DenialRule, IsNoneWhereNoRuleWouldHelp) {
  for (const char* code : {"blocked", "no_network", "protocol", "upstream", ""})
    EXPECT_EQ(rule_for(FakeNet::denied("s", "a.example", 443, "sandbox", code)), "") << code;
  EXPECT_EQ(rule_for(FakeNet::denied("s", "not a name", 443)), "");
}

TEST(DenialsOfAnExec, AreOneForEachHostAndPort) {
  NetworkLog log(0);
  for (int i = 0; i < 3; ++i) {
    log.add(FakeNet::denied("s", "a.example", 443));
    log.add(FakeNet::opened("s", "b.example", 443, "b.example"));
  }
  log.add(FakeNet::denied("s", "a.example", 80));
  std::vector<Denial> denials = denials_of(log.after(0, SIZE_MAX), "box", 32);
  ASSERT_EQ(denials.size(), 2u);
  EXPECT_EQ(denials[0].what, "connect to a.example:443");
  EXPECT_EQ(denials[0].rule, "a.example:443");
  EXPECT_EQ(denials[0].hint, "to allow it: cove net allow box a.example:443");
  EXPECT_EQ(denials[1].port, 80);
  for (int i = 0; i < 40; ++i) log.add(FakeNet::denied("s", "a.example", static_cast<uint16_t>(1000 + i)));
  EXPECT_EQ(denials_of(log.after(0, SIZE_MAX), "box", 32).size(), 32u);
}

TEST(DenialsOfAnExec, SayWhereAnotherLayerRefused) {
  Denial denial = denial_of(FakeNet::denied("s", "a.example", 443, "project"), "box");
  EXPECT_THAT(denial.hint, HasSubstr("project"));
  EXPECT_THAT(denial.hint, testing::Not(HasSubstr("cove net allow")));
}

TEST(LearnedRules, PreferGroups) {
  const net::Group* python = net::find_group("python");
  ASSERT_NE(python, nullptr);
  ASSERT_FALSE(python->hosts.empty());
  EXPECT_THAT(proposed_rules({{python->hosts[0].rule, 443}, {"own.example", 8443}, {"192.0.2.1", 22}}),
              testing::UnorderedElementsAre("@python", "own.example:8443", "192.0.2.1/32:22"));
}

NetworkRequest request(const std::string& host, uint16_t port, const std::string& state = "pending") {
  NetworkRequest request;
  request.id = host;
  request.host = host;
  request.port = port;
  request.rule = host + ":" + std::to_string(port);
  request.state = state;
  return request;
}

TEST(NetworkRequestBook, CountsWhatIsAskedForAgain) {
  RequestBook book;
  EXPECT_TRUE(book.note(request("a", 1)).is_new);
  EXPECT_FALSE(book.note(request("a", 1)).is_new);
  EXPECT_TRUE(book.note(request("a", 2)).is_new);
  EXPECT_EQ(book.all()[0].count, 2u);
}

TEST(NetworkRequestBook, AsksAnewForWhatWasApprovedAndIsDeniedAgain) {
  RequestBook book;
  book.note(request("a", 1));
  (*book.find({.id = "a"}))->state = "approved";
  EXPECT_TRUE(book.note(request("a", 1)).is_new);
  EXPECT_FALSE(book.note(request("a", 1)).is_new);
  ASSERT_EQ(book.all().size(), 2u);
  EXPECT_EQ(book.all()[1].count, 2u);
}

TEST(NetworkRequestBook, CountsWhatWasRejectedWithoutAskingAgain) {
  RequestBook book;
  book.note(request("a", 1));
  (*book.find({.id = "a"}))->state = "rejected";
  EXPECT_FALSE(book.note(request("a", 1)).is_new);
}

TEST(NetworkRequestBook, SaysHowToChangeADecision) {
  NetworkRequest decided = request("a", 1, "rejected");
  EXPECT_THAT(check_pending(decided).error().hint(), testing::HasSubstr("cove net allow  a:1"));
  decided.state = "approved";
  decided.approved = "session";
  EXPECT_THAT(check_pending(decided).error().hint(), testing::HasSubstr("cove net allow --rm"));
  decided.approved = "once";
  EXPECT_THAT(check_pending(decided).error().hint(), testing::HasSubstr("new request"));
}

TEST(NetworkRequestBook, IsBounded) {
  RequestBook book;
  for (size_t i = 0; i < Networks::kMostRequests; ++i) book.note(request("host" + std::to_string(i), 1));
  EXPECT_EQ(book.note(request("more", 1)).request, nullptr);
  (*book.find({.id = "host7"}))->state = "rejected";
  RequestBook::Noted noted = book.note(request("more", 1));
  EXPECT_TRUE(noted.is_new);
  EXPECT_EQ(noted.gone, "host7");
  EXPECT_EQ(book.all().size(), Networks::kMostRequests);
}

TEST(NetworkRequestBook, FindsByIdOrByTheExactRule) {
  RequestBook book;
  book.note(request("a", 1));
  EXPECT_TRUE(book.find({.id = "a"}));
  EXPECT_TRUE(book.find({.rule = "a:1"}));
  EXPECT_EQ(book.find({.id = "a", .rule = "a:2"}).error().code(), Code::Conflict);
  EXPECT_EQ(book.find({.rule = "a"}).error().code(), Code::NotFound);
  EXPECT_EQ(book.find({.id = "b"}).error().code(), Code::NotFound);
}

TEST(NetworkRequestBook, IsReadFromItsRecords) {
  NetworkRequest made = request("a.example", 443, "approved");
  made.approved = "always";
  made.decided_by = "key:1";
  made.count = 7;
  made.created_ms = 5;
  made.decided_ms = 6;
  NetworkRequest read = request_of(record_of(made)).value();
  EXPECT_EQ(to_json(read), to_json(made));
  EXPECT_FALSE(request_of({"id", "s", 0, "{"}));
}

}  // namespace
}  // namespace cove::engine
