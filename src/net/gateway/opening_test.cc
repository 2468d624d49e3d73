#include "net/gateway/opening.h"

#include <gtest/gtest.h>

#include <string>

namespace cove::net {
namespace {

using namespace std::string_literals;

Opening of(std::string_view bytes) { return classify(bytes, Server::Silent); }

TEST(Opening, ARequestIsKnownByItsFirstLine) {
  EXPECT_EQ(of("GET / HTTP/1.1\r\n"), Opening::Http);
  EXPECT_EQ(of("BREW /pot HTTP/1.0\n"), Opening::Http);
  EXPECT_EQ(of("GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n"), Opening::Http);
}

TEST(Opening, WhatSomeServerTakesForARequestIsOne) {
  for (auto text : {"\r\n\r\nGET / HTTP/1.1\r\n", "  \tGET / HTTP/1.1\r\n", "get\t/\thttp/1.1\r\n", "GET /\r\n",
                    "GET  /  HTTP/1.1 \r\n", "x-y_z!# / HTTP/9.9\r\n", "POST http://other.example/\n"})
    EXPECT_EQ(of(text), Opening::Http) << text;
}

TEST(Opening, PiecesOfARequestAreWaitedFor) {
  std::string request = "\r\nGET /a/long/path?and=more HTTP/1.1\r\n";
  for (size_t size = 0; size < request.size(); ++size)
    EXPECT_EQ(of(std::string_view(request).substr(0, size)), Opening::Unknown) << size;
  EXPECT_EQ(of(request), Opening::Http);
}

TEST(Opening, ARequestIsNotHiddenBehindALineWithoutEnd) {
  EXPECT_EQ(of(std::string(kLongestFirstLine - 1, 'A')), Opening::Unknown);
  EXPECT_EQ(of(std::string(kLongestFirstLine, 'A')), Opening::Http);
  EXPECT_EQ(of("GET /" + std::string(kLongestFirstLine, 'a') + " HTTP/1.1\r\n"), Opening::Http);
}

TEST(Opening, ARequestIsNotHiddenBehindEmptyLines) {
  EXPECT_EQ(of(std::string(kLongestFirstLine - 1, '\n')), Opening::Unknown);
  EXPECT_EQ(of(std::string(kLongestFirstLine, '\n')), Opening::Http);
}

TEST(Opening, TheHttp2PrefaceIsKnown) { EXPECT_EQ(of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Opening::Http2); }

TEST(Opening, AnyRecordIsTlsWhileTheServerIsSilent) {
  EXPECT_EQ(of("\x16"), Opening::Tls);
  EXPECT_EQ(of("\x16\x05\x01\x00\x10"s), Opening::Tls);          // Go accepts any version below 16 in the first record
  EXPECT_EQ(of("\x15\x03\x01\x00\x02\x01\x5a"s), Opening::Tls);  // a warning before the ClientHello
}

TEST(Opening, AfterABannerOnlyTlsItselfIsTls) {
  EXPECT_EQ(classify("\x16", Server::Spoke), Opening::Unknown);
  EXPECT_EQ(classify("\x16\x03", Server::Spoke), Opening::Tls);
  EXPECT_EQ(classify("\x16\x01\x00\x01\x85\xa6"s, Server::Spoke), Opening::Other);  // MySQL's login, 278 bytes
}

TEST(Opening, PostgreSqlsQuestionsForEncryptionAreKnown) {
  for (auto query : {"\x00\x00\x00\x08\x04\xd2\x16\x2f"s, "\x00\x00\x00\x08\x04\xd2\x16\x30"s}) {
    for (size_t size = 1; size < query.size(); ++size) EXPECT_EQ(of(query.substr(0, size)), Opening::Unknown);
    EXPECT_EQ(of(query), Opening::Query);
    EXPECT_EQ(of(query + "\x16\x03"), Opening::Query);
  }
}

TEST(Opening, AfterABannerNothingIsWaitedFor) {
  EXPECT_EQ(classify("EHLO", Server::Spoke), Opening::Other);
  EXPECT_EQ(classify("\r\n", Server::Spoke), Opening::Other);
  EXPECT_EQ(classify("GET / HTTP/1.1\r\n", Server::Spoke), Opening::Http);
}

TEST(Opening, OtherProtocolsAreNeither) {
  EXPECT_EQ(of("SSH-2.0-OpenSSH_9.2p1\r\n"), Opening::Other);
  EXPECT_EQ(of("*1\r\n$4\r\nPING\r\n"), Opening::Other);
  EXPECT_EQ(of("\x00\x00\x00\x29\x00\x03\x00\x00user"s), Opening::Other);  // PostgreSQL without TLS
  EXPECT_EQ(of("EHLO example.org\r\n"), Opening::Other);
  EXPECT_EQ(of("{\"jsonrpc\":\"2.0\"}"), Opening::Other);
  EXPECT_EQ(of("get /key\r\n"), Opening::Other);  // memcached
  EXPECT_EQ(of("005bgit-upload-pack /repository\0host=example.org\0"s), Opening::Other);
}

}  // namespace
}  // namespace cove::net
