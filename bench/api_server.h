#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// A server of a benchmark's own, and how it is spoken to: as little code as possible, so that what is measured is the
// server.
namespace cove::bench {

inline constexpr size_t kPiece = 128 * 1024;  // as cat has it

[[noreturn]] void give_up(const std::string& what);
void write_all(int fd, std::string_view data);

// A connection to the server that stays open. Answers have a Content-Length.
class Line {
 public:
  explicit Line(const std::string& path);
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  struct Answer {
    int status;
    std::string body;
  };
  // A refusal ends the benchmark.
  Answer ask(const std::string& method, const std::string& target, const std::string& body = {});
  void send_head(const std::string& method, const std::string& target, size_t length, const std::string& body = {});
  Answer read_answer();
  // Reads a body and throws it away, as `cat > /dev/null` would.
  uint64_t drain_answer();
  int fd() const { return fd_; }

  // The three steps of a sandbox's life.
  std::string create(const std::string& body = "{}");
  void exec(const std::string& id, const std::string& body);
  void exec_true(const std::string& id);
  void remove(const std::string& id);

 private:
  void fill();
  size_t read_head();
  size_t length_in(size_t end) const;

  int fd_;
  std::string buffer_;
};

// A server of its own in a folder of its own.
class Server {
 public:
  explicit Server(const std::vector<std::string>& settings);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& socket() const { return socket_; }
  const std::string& folder() const { return folder_; }
  // COVE_STATE of whoever is to find it.
  std::string state() const { return folder_ + "/state"; }
  // Resident memory of coved, in MiB.
  double memory() const;

 private:
  std::string folder_;
  std::string socket_;
  pid_t pid_ = -1;
};

}  // namespace cove::bench
