// A server of another machine, as it were: over TLS, with a key.
#include <arpa/inet.h>
#include <netinet/in.h>

#include "cli_server_fixture.h"

namespace cove::test {
namespace {

class CliTls : public CliServer {
 protected:
  void SetUp() override {
    files_ = folder();
    make_certificate("server", "DNS:localhost");
    port_ = free_port();
    server_ = start({"serve", "--listen", "unix:" + socket(), "--listen", "tcp:127.0.0.1:" + std::to_string(port_),
                     "--tls-cert", files_ + "/server.pem", "--tls-key", files_ + "/server.key"},
                    At::Pipe);
    ASSERT_TRUE(comes_true([&] { return listener_of(socket()) > 0; }));
    Outcome made = cove({"key", "create", "test"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    key_ = made.out.substr(0, made.out.size() - 1);
  }
  void TearDown() override {
    CliServer::TearDown();
    if (server_) server_->wait();
  }

  void make_certificate(const std::string& name, const std::string& for_whom, const std::string& days = "2") {
    std::string path = files_ + "/" + name;
    Outcome made = run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-days", days, "-subj", "/CN=cove test", "-addext", "subjectAltName=" + for_whom,
                        "-keyout", path + ".key", "-out", path + ".pem"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    // coved reads it as a user of its own.
    ASSERT_EQ(::chmod((path + ".key").c_str(), 0644), 0);
    ASSERT_EQ(::chmod(files_.c_str(), 0755), 0);
  }

  // Gives a certificate the dates of a day in 2020; `openssl req` makes none that has ended.
  void make_it_expired(const std::string& name) {
    const std::string path = files_ + "/" + name;
    write(path + ".conf",
          "[ca]\ndefault_ca=d\n[d]\ndatabase=" + path + ".index\nnew_certs_dir=" + files_ +
              "\nrand_serial=yes\ndefault_md=sha256\npolicy=p\nx509_extensions=e\n[p]\ncommonName=optional\n"
              "[e]\nsubjectAltName=DNS:localhost\n");
    write(path + ".index", "");
    Outcome asked =
        run({"openssl", "req", "-new", "-key", path + ".key", "-subj", "/CN=cove test", "-out", path + ".csr"});
    ASSERT_EQ(asked.exit_code, 0) << asked.err;
    Outcome signed_it = run({"openssl", "ca", "-batch", "-notext", "-selfsign", "-config", path + ".conf", "-keyfile",
                             path + ".key", "-in", path + ".csr", "-out", path + ".pem", "-startdate",
                             "20200101000000Z", "-enddate", "20200102000000Z"});
    ASSERT_EQ(signed_it.exit_code, 0) << signed_it.err;
  }

  static int free_port() {
    int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    ::close(fd);
    return ntohs(address.sin_port);
  }

  std::string place(const std::string& host) const { return "https://" + host + ":" + std::to_string(port_); }
  Words remote(const std::string& host = "localhost") const {
    return {"COVE_HOST=" + place(host), "COVE_API_KEY=" + key_, "COVE_CACERT=" + files_ + "/server.pem"};
  }

  std::string files_, key_;
  int port_ = 0;
  std::unique_ptr<Running> server_;
};

TEST_P(CliTls, CommandsWorkAsOverTheSocket) {
  Outcome made = cove_with({"create", "--name", "far"}, remote());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(has(cove_with({"ls"}, remote()).out, "far"));
  Outcome echoed = cove_with({"exec", "far", "sh", "-c", "cat; echo err >&2; exit 3"}, remote(), "through\n");
  EXPECT_EQ(echoed.out, "through\n") << echoed.err;
  EXPECT_EQ(echoed.err, "err\n");
  EXPECT_EQ(echoed.exit_code, 3);
  Outcome much = cove_with({"exec", "far", "head", "-c", "20000000", "/dev/zero"}, remote());
  EXPECT_EQ(much.out.size(), 20000000u);
  const std::string data(3'000'000, 'x');
  EXPECT_EQ(cove_with({"exec", "far", "wc", "-c"}, remote(), data).out, "3000000\n");
  write(files_ + "/file", data);
  EXPECT_EQ(cove_with({"cp", files_ + "/file", "far:copied"}, remote()).exit_code, 0);
  EXPECT_EQ(cove_with({"fs", "cat", "far:copied"}, remote()).out.size(), data.size());
  EXPECT_EQ(cove_with({"shell", "far"}, remote(), "echo $((6*7))\n").out, "42\n");
  EXPECT_EQ(cove_with({"rm", "-f", "far"}, remote()).exit_code, 0);
}

TEST_P(CliTls, ATerminalWorks) {
  ASSERT_EQ(cove_with({"create", "--name", "far"}, remote()).exit_code, 0);
  ChildOptions local = options_;
  for (const std::string& entry : remote()) options_.env.push_back(entry);
  auto running = start({"exec", "-it", "far", "sh"}, At::Terminal);
  running->wait_for("$ ");
  // The child says it: by then it is in the foreground, and the interrupt reaches it.
  running->type("sh -c 'echo be\"\"gun; exec sleep 900'\n");
  running->wait_for("begun");
  running->type("\x03");
  running->wait_for("$ ");
  running->type("echo sum=$((2+2)); exit 4\n");
  running->wait_for("sum=4");
  running->rest();
  EXPECT_EQ(running->wait(), 4);
  options_ = local;
}

TEST_P(CliTls, OnlyATrustedCertificateForThatNameIsAccepted) {
  Words unknown = remote();
  unknown.pop_back();
  Outcome untrusted = cove_with({"ls"}, unknown);
  EXPECT_EQ(untrusted.exit_code, 125);
  EXPECT_TRUE(has(untrusted.err, "not accepted")) << untrusted.err;
  EXPECT_TRUE(has(untrusted.err, "COVE_CACERT")) << untrusted.err;
  Outcome other_name = cove_with({"ls"}, remote("127.0.0.1"));
  EXPECT_EQ(other_name.exit_code, 125);
  EXPECT_TRUE(has(other_name.err, "mismatch")) << other_name.err;
  make_certificate("other", "DNS:localhost");
  Words wrong = remote();
  wrong.back() = "COVE_CACERT=" + files_ + "/other.pem";
  EXPECT_EQ(cove_with({"ls"}, wrong).exit_code, 125);
  wrong.back() = "COVE_CACERT=/no/such/file";
  EXPECT_TRUE(has(cove_with({"ls"}, wrong).err, "/no/such/file"));
}

TEST_P(CliTls, AnExpiredCertificateIsNotAccepted) {
  // Of a server of its own: what coved was started with is good.
  make_certificate("expired", "DNS:localhost");
  make_it_expired("expired");
  const int port = free_port();
  const std::string path = files_ + "/expired";
  Outcome begun = run({"sh", "-c",
                       "openssl s_server -quiet -accept " + std::to_string(port) + " -cert " + path + ".pem -key " +
                           path + ".key </dev/null >/dev/null 2>&1 & echo $!"});
  const pid_t stale = std::stoi(begun.out);
  Outcome refused;
  ASSERT_TRUE(comes_true([&] {
    refused = cove_with({"ls"}, {"COVE_HOST=https://localhost:" + std::to_string(port), "COVE_API_KEY=" + key_,
                                 "COVE_CACERT=" + path + ".pem"});
    return !has(refused.err, "is it running?");
  }));
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_TRUE(has(refused.err, "expired")) << refused.err;
  ::kill(stale, SIGKILL);
}

TEST_P(CliTls, AnAddressIsTakenAsItIsWritten) {
  for (const char* host : {"https://localhost:PORT/", "HTTPS://localhost:PORT"}) {
    std::string address = host;
    address.replace(address.find("PORT"), 4, std::to_string(port_));
    Words env = remote();
    env[0] = "COVE_HOST=" + address;
    Outcome listed = cove_with({"ls"}, env);
    EXPECT_EQ(listed.exit_code, 0) << address << listed.err;
  }
  for (const char* bad : {"https://localhost/v1", "https://localhost:0", "https://localhost:99999", "https://[::1"}) {
    Outcome refused = cove_with({"ls"}, {std::string("COVE_HOST=") + bad, "COVE_API_KEY=" + key_});
    EXPECT_EQ(refused.exit_code, 125) << bad;
    EXPECT_TRUE(has(refused.err, "is not the address of a server")) << refused.err;
  }
  Outcome with_key = cove_with({"ls"}, {"COVE_HOST=https://" + key_ + "@localhost:7070"});
  EXPECT_EQ(with_key.exit_code, 125);
  EXPECT_FALSE(has(with_key.err, key_)) << with_key.err;
  EXPECT_TRUE(has(with_key.err, "COVE_API_KEY")) << with_key.err;
}

TEST_P(CliTls, SaysWhatIsWrong) {
  Words without_key = remote();
  without_key[1] = "COVE_API_KEY=";
  Outcome no_key = cove_with({"ls"}, without_key);
  EXPECT_TRUE(has(no_key.err, "COVE_API_KEY")) << no_key.err;
  Outcome clear = cove_with({"ls"}, {"COVE_HOST=http://192.0.2.1:7070", "COVE_API_KEY=" + key_});
  EXPECT_EQ(clear.exit_code, 125);
  EXPECT_TRUE(has(clear.err, "not be encrypted")) << clear.err;
  EXPECT_TRUE(has(clear.err, "https://192.0.2.1:7070")) << clear.err;
  Outcome nobody = cove_with({"ls"}, {"COVE_HOST=https://localhost:1", "COVE_API_KEY=" + key_});
  EXPECT_TRUE(has(nobody.err, "localhost:1")) << nobody.err;
  EXPECT_TRUE(has(nobody.err, "is it running?")) << nobody.err;
  EXPECT_EQ(cove_with({"ls"}, {"COVE_HOST=https://"}).exit_code, 125);
}

COVE_FOR_EVERYBODY(CliTls);

}  // namespace
}  // namespace cove::test
