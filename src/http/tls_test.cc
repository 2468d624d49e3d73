#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <future>

#include "http/server.h"
#include "http/test_support.h"

namespace cove::http {
namespace {

using testing::Client;
using testing::TempFolder;
using testing::TestServer;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(FILE* file) const { std::fclose(file); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// A certificate for "localhost" that signs itself.
Tls make_certificate(const TempFolder& folder) {
  Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  Owned<X509> certificate(X509_new());
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  Tls files{folder.file("cert.pem"), folder.file("key.pem")};
  PEM_write_X509(Owned<FILE>(std::fopen(files.certificate.c_str(), "w")).get(), certificate.get());
  PEM_write_PrivateKey(Owned<FILE>(std::fopen(files.key.c_str(), "w")).get(), key.get(), nullptr, nullptr, 0, nullptr,
                       nullptr);
  return files;
}

class TlsClient {
 public:
  explicit TlsClient(uint16_t port, int highest = TLS1_3_VERSION)
      : client_(Client::tcp(port)), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_min_proto_version(context_.get(), 0);
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_max_proto_version(context_.get(), highest);
    session_.reset(SSL_new(context_.get()));
    SSL_set_fd(session_.get(), client_.fd());
  }
  bool connect() { return SSL_connect(session_.get()) == 1; }
  bool send(std::string_view data) {
    size_t sent = 0;
    return SSL_write_ex(session_.get(), data.data(), data.size(), &sent) == 1 && sent == data.size();
  }
  std::string read_to_end() {
    std::string all, piece(1 << 16, '\0');
    for (size_t count; SSL_read_ex(session_.get(), piece.data(), piece.size(), &count) == 1;)
      all.append(piece, 0, count);
    ended_well_ = SSL_get_shutdown(session_.get()) & SSL_RECEIVED_SHUTDOWN;
    return all;
  }
  bool ended_well() const { return ended_well_; }
  std::string version() const { return SSL_get_version(session_.get()); }

 private:
  Client client_;
  Owned<SSL_CTX> context_;
  Owned<SSL> session_;
  bool ended_well_ = false;
};

std::string request(const std::string& method, const std::string& path, const std::string& body = "") {
  return method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

std::string last_request(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
}

class TlsServer : public ::testing::Test {
 protected:
  TlsServer() : server_([this](Router& router) { add_routes(router); }, {}, options()) {
    ::signal(SIGPIPE, SIG_IGN);  // the client's
  }
  ListenerOptions options() {
    ListenerOptions options;
    options.tls = make_certificate(folder_);
    return options;
  }
  void add_routes(Router& router) {
    router.add({"POST", "/echo", [](Exchange& exchange) {
                  EXPECT_TRUE(exchange.request().peer.encrypted);
                  auto body = exchange.read_all(64 << 20);
                  (void)exchange.respond(200, {}, *body);
                }});
    router.add({"PUT", "/file", [this](Exchange& exchange) {
                  UniqueFd file(::open(folder_.file("up").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
                  auto count = exchange.read_to(file.get());
                  (void)exchange.respond(200, {}, std::to_string(count.value_or(0)));
                }});
    router.add({"GET", "/file", [this](Exchange& exchange) {
                  UniqueFd file(::open(folder_.file("up").c_str(), O_RDONLY | O_CLOEXEC));
                  struct stat info = {};
                  ::fstat(file.get(), &info);
                  (void)exchange.begin(200, {}, static_cast<uint64_t>(info.st_size));
                  EXPECT_TRUE(exchange.send_file(file.get(), 0, static_cast<uint64_t>(info.st_size)));
                  (void)exchange.end();
                }});
    router.add({"GET", "/wait", [this](Exchange& exchange) {
                  waits_.set_value();
                  woke_.set_value(exchange.wait(-1, std::chrono::seconds(10)));
                }});
  }

  std::promise<void> waits_;
  std::promise<Exchange::Wake> woke_;
  TempFolder folder_;
  TestServer server_;
};

TEST_F(TlsServer, AnswersWithBothVersions) {
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(server_.port(), version);
    ASSERT_TRUE(client.connect());
    client.send(request("POST", "/echo", "secret") + last_request("/nowhere"));
    std::string replies = client.read_to_end();
    EXPECT_NE(replies.find("200 OK"), std::string::npos);
    EXPECT_NE(replies.find("secret"), std::string::npos);
    EXPECT_NE(replies.find("404 Not Found"), std::string::npos);
    EXPECT_TRUE(client.ended_well());
  }
}

TEST_F(TlsServer, RefusesOldVersionsAndPlainText) {
  TlsClient old(server_.port(), TLS1_1_VERSION);
  EXPECT_FALSE(old.connect());
  Client plain = Client::tcp(server_);
  plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(plain.read_to_end().find("HTTP/1.1 "), std::string::npos);
}

TEST_F(TlsServer, MovesFiles) {
  std::string data(30'000'001, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 2654435761u >> 13);
  TlsClient client(server_.port());
  ASSERT_TRUE(client.connect());
  ASSERT_TRUE(client.send(request("PUT", "/file", data) + last_request("/file")));
  std::string replies = client.read_to_end();
  EXPECT_NE(replies.find("30000001"), std::string::npos);
  EXPECT_TRUE(replies.ends_with(data));
}

TEST_F(TlsServer, NoticesWhenThePeerGoes) {
  {
    TlsClient client(server_.port());
    ASSERT_TRUE(client.connect());
    client.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    waits_.get_future().get();
  }
  EXPECT_EQ(woke_.get_future().get(), Exchange::Wake::Gone);
}

TEST(Tls, CertificatesAreChecked) {
  TempFolder folder;
  Tls files = make_certificate(folder);
  auto listen = [&](Tls tls) {
    auto server = Server::create({}).value();
    ListenerOptions options;
    options.tls = std::move(tls);
    return server->listen(listen_tcp("127.0.0.1", 0).value(), std::make_shared<Router>(), options);
  };
  EXPECT_TRUE(listen(files));
  EXPECT_EQ(listen({folder.file("missing"), files.key}).error().code(), Code::Invalid);
  EXPECT_EQ(listen({files.certificate, files.certificate}).error().code(), Code::Invalid);
  TempFolder other;
  EXPECT_EQ(listen({files.certificate, make_certificate(other).key}).error().code(), Code::Invalid);
}

}  // namespace
}  // namespace cove::http
