#include "net/gateway/dns_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/gateway/test_dns.h"

namespace cove::net::dns {
namespace {

using testing::address;
using testing::alias;
using testing::answer_to;
using ::testing::ElementsAre;
using testing::query;
using testing::two;
using testing::wire_name;

int code_of(const std::string& message) { return message[3] & 0xf; }
std::string with(std::string message, size_t at, std::string_view bytes) {
  return message.replace(at, bytes.size(), bytes);
}

TEST(DnsQuestion, IsParsedInLowerCase) {
  Asked asked = parse_question(query(0x1234, "WWW.Example.ORG", kAaaa));
  ASSERT_TRUE(asked.question);
  EXPECT_EQ(asked.question->id, 0x1234);
  EXPECT_EQ(asked.question->name, "www.example.org");
  EXPECT_TRUE(asked.question->is_host);
  EXPECT_EQ(asked.question->type, kAaaa);
  EXPECT_EQ(asked.question->udp_size, 512);
  EXPECT_EQ(parse_question(query(1, "", kA)).question->name, "");
}

TEST(DnsQuestion, ShowsBytesThatNoHostHas) {
  for (std::string odd :
       {std::string("a\0b", 3), std::string("a.b"), std::string("a b"), std::string("\xc3\xbc"), std::string("a/b")}) {
    std::string message = query(1, "xxxx.org", kA);
    std::string label = two(odd.size()).substr(1) + odd;
    message = message.substr(0, 12) + label + message.substr(17);
    Asked asked = parse_question(message);
    ASSERT_TRUE(asked.question) << odd;
    EXPECT_FALSE(asked.question->is_host) << odd;
    EXPECT_EQ(asked.question->name.size(), odd.size() + 4);
    EXPECT_THAT(asked.question->name, ::testing::EndsWith(".org"));
    EXPECT_NE(asked.question->name, "a.b.org");
  }
}

TEST(DnsQuestion, EveryCutIsRefusedOrIgnored) {
  std::string message = query(7, "www.example.org", kA);
  for (size_t size = 0; size < message.size(); ++size) {
    Asked asked = parse_question(message.substr(0, size));
    EXPECT_FALSE(asked.question) << size;
    if (size < kHeaderSize)
      EXPECT_EQ(asked.reply, "") << size;
    else
      EXPECT_EQ(code_of(asked.reply), 1) << size;
  }
}

TEST(DnsQuestion, RefusesWhatIsNoPlainQuestion) {
  std::string good = query(7, "www.example.org", kA);
  EXPECT_EQ(parse_question(with(good, 2, "\x81")).reply, "") << "an answer";
  EXPECT_EQ(code_of(parse_question(with(good, 2, "\x29")).reply), 4) << "an update";
  EXPECT_EQ(code_of(parse_question(with(good, 5, "\x02")).reply), 1) << "two questions";
  EXPECT_EQ(code_of(parse_question(with(good, 5, std::string_view("\0", 1))).reply), 1) << "none";
  EXPECT_EQ(code_of(parse_question(with(good, 7, "\x01")).reply), 1) << "an answer within";
  EXPECT_EQ(code_of(parse_question(good + "x").reply), 1) << "bytes behind it";
}

TEST(DnsQuestion, RefusesPointersAndOverlongNames) {
  std::string tail = two(kA) + two(kInternet);
  std::string head = query(7, "", kA).substr(0, kHeaderSize);
  auto code = [&](const std::string& name) { return code_of(parse_question(head + name + tail).reply); };
  EXPECT_EQ(code("\xc0\x0c"), 1) << "to itself";
  EXPECT_EQ(code(std::string("\xc0\x00", 2)), 1) << "into the header";
  EXPECT_EQ(code("\xc0\xff"), 1) << "behind the end";
  EXPECT_EQ(code(std::string("\x01") + "a" + "\xc0\x0c"), 1) << "to the front of the same name";
  EXPECT_EQ(code("\x41" + std::string(65, 'a') + '\0'), 1) << "a label of a reserved kind";
  std::string label = "\x3f" + std::string(63, 'a');
  EXPECT_EQ(code(label + label + label + label + '\0'), 1) << "256 bytes";
  EXPECT_TRUE(parse_question(head + label + label + label + "\x3d" + std::string(61, 'a') + '\0' + tail).question);
}

TEST(DnsQuestion, UnderstandsEdns) {
  std::string option = std::string(1, '\0') + two(kOpt) + two(4096) + two(0) + two(0) + two(0);
  std::string message = with(query(7, "example.org", kA), 11, "\x01") + option;
  Asked asked = parse_question(message);
  ASSERT_TRUE(asked.question);
  EXPECT_TRUE(asked.question->extended);
  EXPECT_EQ(asked.question->udp_size, 4096);
  EXPECT_EQ(reply_to(*asked.question, Code::NoName).substr(29, 3), option.substr(0, 3));
  EXPECT_EQ(code_of(parse_question(with(message, 11, "\x02") + option).reply), 1) << "twice";
}

TEST(DnsReply, RepeatsTheQuestionAsItCame) {
  Asked asked = parse_question(query(0xabcd, "Example.ORG", kA));
  std::string reply =
      reply_to(*asked.question, Code::NoError, {{kA, 10, address_data(parse_address("198.18.0.1").value())}});
  EXPECT_EQ(reply, two(0xabcd) + two(0x8180) + two(1) + two(1) + two(0) + two(0) + wire_name("Example.ORG") + two(kA) +
                       two(kInternet) + "\xc0\x0c" + two(kA) + two(kInternet) + two(0) + two(10) + two(4) +
                       std::string("\xc6\x12\0\x01", 4));
}

TEST(DnsAnswer, AliasesAreFollowedInAnyOrder) {
  std::string question = query(1, "a.example", kA);
  auto found =
      parse_addresses(answer_to(question, 0,
                                {address("c.example", "192.0.2.1", 30), alias("b.example", "c.example", 20),
                                 alias("a.example", "b.example", 50), address("other.example", "192.0.2.9", 1)}),
                      "a.example", kA);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->addresses, ElementsAre(parse_address("192.0.2.1").value()));
  EXPECT_EQ(found->ttl, 20u);
}

TEST(DnsAnswer, AliasesThatCircleLeadNowhere) {
  std::string question = query(1, "a.example", kA);
  auto found = parse_addresses(
      answer_to(question, 0, {alias("a.example", "b.example"), alias("b.example", "a.example")}), "a.example", kA);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->addresses.empty());
}

TEST(DnsAnswer, MalformedOnesAreRefused) {
  std::string question = query(1, "a.example", kA);
  std::string good = answer_to(question, 0, {alias("a.example", "b.example"), address("b.example", "192.0.2.1")});
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parse_addresses(good.substr(0, size), "a.example", kA)) << size;
  EXPECT_FALSE(parse_addresses(answer_to(question, 0, {{"a.example", kA, 1, "123"}}), "a.example", kA));
  EXPECT_FALSE(parse_addresses(answer_to(question, 0, {{"a.example", kA, 1, std::string(16, 'x')}}), "a.example", kA));
  EXPECT_EQ(parse_addresses(answer_to(question, 3, {}), "a.example", kA)->code, Code::NoName);
}

TEST(DnsAnswer, IsForwardedUnderTheQuestionsOwnIdAndForm) {
  dns::Question asked = *parse_question(query(0x7777, "MAIL.example", 15)).question;
  std::string answer = answer_to(query(1, "mail.example", 15), 0,
                                 {{"mail.example", 15, 5, std::string("\0\x0a", 2) + wire_name("mx.example")}});
  std::string reply = forwarded_reply(asked, answer, 512);
  EXPECT_EQ(reply.substr(0, 2), "\x77\x77");
  EXPECT_EQ(reply.substr(kHeaderSize, asked.wire.size()), asked.wire);
  EXPECT_EQ(reply.substr(kHeaderSize + asked.wire.size()), answer.substr(kHeaderSize + asked.wire.size()));
  std::string cut = forwarded_reply(asked, answer, 40);
  EXPECT_EQ(cut.size(), kHeaderSize + asked.wire.size());
  EXPECT_TRUE(cut[2] & 0x02) << "truncated";
  EXPECT_EQ(forwarded_reply(asked, answer_to(query(1, "other.example", 15), 0, {}), 512), "");
}

TEST(DnsReverse, NamesAddressesBackwards) {
  EXPECT_EQ(reversed_address("4.3.18.198.in-addr.arpa"), parse_address("198.18.3.4").value());
  EXPECT_EQ(reversed_address("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"),
            parse_address("2001:db8::1").value());
  for (const char* bad : {"3.18.198.in-addr.arpa", "256.3.18.198.in-addr.arpa", "04.3.18.198.in-addr.arpa",
                          "a.3.18.198.in-addr.arpa", "in-addr.arpa", "example.org"})
    EXPECT_FALSE(reversed_address(bad)) << bad;
}

}  // namespace
}  // namespace cove::net::dns
