#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <random>
#include <thread>

#include "http/server.h"
#include "http/test_support.h"

// Long bodies, in and out.
namespace cove::http {
namespace {

using testing::Client;
using testing::Reply;
using testing::TempFolder;
using testing::TestServer;

constexpr size_t kBig = 200 * 1000 * 1000 + 7;

class Hash {
 public:
  Hash() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void add(std::string_view data) { EVP_DigestUpdate(context_.get(), data.data(), data.size()); }
  std::string take() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), digest, &size);
    return std::string(digest, digest + size);
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
};

// Bytes that are the same at each call, in pieces.
template <typename Take>
void generate(size_t size, Take take) {
  std::mt19937_64 random(42);
  std::string piece(1 << 20, '\0');
  while (size > 0) {
    for (size_t i = 0; i < piece.size(); i += 8) {
      uint64_t word = random();
      std::memcpy(piece.data() + i, &word, 8);
    }
    size_t count = std::min(size, piece.size());
    take(std::string_view(piece).substr(0, count));
    size -= count;
  }
}

std::string hash_of_generated(size_t size) {
  Hash hash;
  generate(size, [&](std::string_view piece) { hash.add(piece); });
  return hash.take();
}

std::string hash_of_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Hash hash;
  std::string piece(1 << 20, '\0');
  for (ssize_t count; (count = ::read(file.get(), piece.data(), piece.size())) > 0;)
    hash.add({piece.data(), static_cast<size_t>(count)});
  return hash.take();
}

// PUT /file and GET /file of one file in a folder.
class FileServer {
 public:
  FileServer() : server_([this](Router& router) { add_routes(router); }) {}
  std::string path() const { return folder_.file("file"); }
  const TestServer& server() const { return server_; }

 private:
  void add_routes(Router& router) {
    router.add({"PUT", "/file", [this](Exchange& exchange) { take(exchange); }});
    router.add({"GET", "/file", [this](Exchange& exchange) { give(exchange, Length::Known); }});
    router.add({"GET", "/chunked", [this](Exchange& exchange) { give(exchange, Length::Unknown); }});
  }
  void take(Exchange& exchange) {
    UniqueFd file(::open(path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    auto count = exchange.read_to(file.get());
    (void)exchange.respond(count ? 200 : 400, {}, count ? std::to_string(*count) : count.error().message());
  }
  enum class Length { Known, Unknown };
  void give(Exchange& exchange, Length length) {
    UniqueFd file(::open(path().c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info = {};
    ::fstat(file.get(), &info);
    auto size = static_cast<uint64_t>(info.st_size);
    (void)exchange.begin(200, {}, length == Length::Known ? std::optional(size - 3) : std::nullopt);
    EXPECT_TRUE(exchange.send_file(file.get(), 3, size - 3));
    EXPECT_TRUE(exchange.end());
  }

  TempFolder folder_;
  TestServer server_;
};

class BigFile : public ::testing::TestWithParam<bool> {
 protected:
  Client connect() { return GetParam() ? Client::tcp(files_.server()) : Client::local(files_.server()); }
  FileServer files_;
};
INSTANTIATE_TEST_SUITE_P(Over, BigFile, ::testing::Values(false, true),
                         [](auto& way) { return way.param ? "Tcp" : "Unix"; });

TEST_P(BigFile, ArrivesAsItWasSent) {
  Client client = connect();
  client.send("PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(kBig) + "\r\n\r\n");
  generate(kBig, [&](std::string_view piece) { ASSERT_TRUE(client.send(piece)); });
  EXPECT_EQ(client.receive().body, std::to_string(kBig));
  EXPECT_EQ(hash_of_file(files_.path()), hash_of_generated(kBig));
  EXPECT_EQ(client.ask("PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx").body, "1");
}

TEST_P(BigFile, ArrivesInChunks) {
  constexpr size_t kSize = 20'000'000;
  Client client = connect();
  client.send("PUT /file HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  generate(kSize, [&](std::string_view piece) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    ASSERT_TRUE(client.send(std::string(size) + std::string(piece) + "\r\n"));
  });
  client.send("0\r\n\r\n");
  EXPECT_EQ(client.receive().body, std::to_string(kSize));
  EXPECT_EQ(hash_of_file(files_.path()), hash_of_generated(kSize));
}

TEST_P(BigFile, LeavesAsItIs) {
  Hash expected;
  {
    UniqueFd file(::open(files_.path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::write(file.get(), "abc", 3), 3);
    generate(kBig, [&](std::string_view piece) {
      expected.add(piece);
      ASSERT_EQ(::write(file.get(), piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
    });
  }
  std::string hash = expected.take();
  Client client = connect();
  for (auto path : {"/file", "/chunked"}) {
    Reply reply = client.get(path);
    EXPECT_TRUE(reply.whole);
    EXPECT_EQ(reply.body.size(), kBig);
    Hash got;
    got.add(reply.body);
    EXPECT_EQ(got.take(), hash) << path;
  }
}

TEST(Transfer, BrokenUploadsAreTold) {
  std::promise<Error> end;
  TestServer server([&](Router& router) {
    router.add({"PUT", "/", [&](Exchange& exchange) {
                  UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
                  end.set_value(exchange.read_to(null.get()).error());
                }});
  });
  Client client = Client::local(server);
  client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + std::string(300'000, 'x'));
  client.close();
  EXPECT_EQ(end.get_future().get().code(), Code::Unavailable);
}

TEST(Transfer, FailuresOfTheFileAreNotThePeers) {
  std::promise<Error> end;
  TestServer server([&](Router& router) {
    router.add({"PUT", "/", [&](Exchange& exchange) {
                  UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
                  end.set_value(exchange.read_to(full.get()).error());
                  (void)exchange.respond(507, {}, "");
                }});
  });
  Client client = Client::local(server);
  client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n" + std::string(500'000, 'x'));
  EXPECT_EQ(end.get_future().get().errnum(), ENOSPC);
  EXPECT_EQ(client.receive().status, 507);
}

TEST(Transfer, GoesIntoPipesAndOutOfThem) {
  TestServer server([&](Router& router) {
    router.add({"PUT", "/", [&](Exchange& exchange) {
                  int ends[2];
                  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
                  UniqueFd out(ends[0]), in(ends[1]);
                  std::thread writer([&] {
                    EXPECT_EQ(exchange.read_to(in.get()).value_or(0), 1'000'000u);
                    in.reset();
                  });
                  std::string all;
                  char piece[10'000];
                  for (;;) {
                    pollfd poll{.fd = out.get(), .events = POLLIN, .revents = 0};
                    ::poll(&poll, 1, -1);
                    ssize_t count = ::read(out.get(), piece, sizeof piece);
                    if (count == 0) break;
                    if (count > 0) all.append(piece, static_cast<size_t>(count));
                  }
                  writer.join();
                  (void)exchange.respond(200, {}, all);
                }});
    router.add({"GET", "/", [&](Exchange& exchange) {
                  int ends[2];
                  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
                  UniqueFd out(ends[0]), in(ends[1]);
                  ASSERT_EQ(::write(in.get(), "piped", 5), 5);
                  (void)exchange.begin(200, {}, std::nullopt);
                  EXPECT_TRUE(exchange.send_file(out.get(), 0, 5));
                  (void)exchange.end();
                }});
  });
  Client client = Client::tcp(server);
  std::string data;
  generate(1'000'000, [&](std::string_view piece) { data += piece; });
  EXPECT_EQ(client.ask("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + data).body, data);
  EXPECT_EQ(client.get("/").body, "piped");
}

}  // namespace
}  // namespace cove::http
