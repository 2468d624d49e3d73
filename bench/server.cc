// The API beside what it could cost at least: a sandbox of bubblewrap, a posix_spawn, `cat` through a socket.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "measure.h"

namespace cove::bench {
namespace {

const Command kBwrap = {"bwrap", "--unshare-all", "--ro-bind", "/",       "/",    "--proc",
                        "/proc", "--dev",         "/dev",      "--tmpfs", "/tmp", "true"};
constexpr int kRounds = 200;
constexpr int kIdle = 500;
constexpr uint64_t kLarge = 1 << 30;
constexpr size_t kPiece = 128 * 1024;  // as cat has it

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "bench server: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

std::string folder_of_programs() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

int connect_to(const std::string& path) {
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

void write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    ssize_t count = ::write(fd, data.data(), data.size());
    if (count <= 0) give_up("write");
    data.remove_prefix(static_cast<size_t>(count));
  }
}

// A connection to the server that stays open. Answers have a Content-Length.
class Line {
 public:
  explicit Line(const std::string& path) : fd_(connect_to(path)) {
    if (fd_ < 0) give_up("connect to " + path);
  }
  ~Line() { ::close(fd_); }

  struct Answer {
    int status;
    std::string body;
  };
  Answer ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    send_head(method, target, body.size(), body);
    return read_answer();
  }
  void send_head(const std::string& method, const std::string& target, size_t length, const std::string& body = {}) {
    std::string head = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
                       "Content-Length: " + std::to_string(length) + "\r\n\r\n" + body;
    write_all(fd_, head);
  }
  Answer read_answer() {
    size_t end = read_head();
    size_t length = length_in(end);
    while (buffer_.size() < end + length) fill();
    Answer answer{std::atoi(buffer_.c_str() + 9), buffer_.substr(end, length)};
    buffer_.erase(0, end + length);
    if (answer.status >= 400) {
      std::fprintf(stderr, "the server says %d: %s\n", answer.status, answer.body.c_str());
      std::exit(1);
    }
    return answer;
  }
  // Reads a body and throws it away, as `cat > /dev/null` would.
  uint64_t drain_answer() {
    size_t end = read_head();
    uint64_t left = length_in(end) - (buffer_.size() - end);
    uint64_t total = length_in(end);
    buffer_.clear();
    std::string piece(kPiece, '\0');
    while (left > 0) {
      ssize_t count = ::read(fd_, piece.data(), piece.size());
      if (count <= 0) give_up("read");
      left -= static_cast<uint64_t>(count);
    }
    return total;
  }
  int fd() const { return fd_; }

 private:
  void fill() {
    char piece[65536];
    ssize_t count = ::read(fd_, piece, sizeof piece);
    if (count <= 0) give_up("the server closed the connection");
    buffer_.append(piece, static_cast<size_t>(count));
  }
  size_t read_head() {
    size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == buffer_.npos) fill();
    return end + 4;
  }
  size_t length_in(size_t end) const {
    size_t at = buffer_.find("Content-Length: ");
    return at < end ? std::strtoull(buffer_.c_str() + at + 16, nullptr, 10) : 0;
  }

  int fd_;
  std::string buffer_;
};

// A server of its own in a folder of its own.
class Server {
 public:
  Server() {
    char name[] = "/var/tmp/cove-bench-XXXXXX";
    folder_ = ::mkdtemp(name);
    ::chmod(folder_.c_str(), 0755);  // the server runs as another user
    socket_ = folder_ + "/api.sock";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setenv("COVE_STATE", (folder_ + "/state").c_str(), 1);
      std::string program = folder_of_programs() + "/cove-spawn";
      std::string listen = "listen=unix:" + socket_;
      std::string log = folder_ + "/log";
      int fd = ::open(log.c_str(), O_WRONLY | O_CREAT, 0600);
      ::dup2(fd, 2);
      ::execl(program.c_str(), "cove-spawn", "serve", "--set", listen.c_str(), "--set", "pool.size=0", nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 500; ++i) {
      int fd = connect_to(socket_);
      if (fd >= 0) {
        ::close(fd);
        return;
      }
      ::usleep(20'000);
    }
    give_up("the server does not come up");
  }
  ~Server() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  const std::string& socket() const { return socket_; }
  const std::string& folder() const { return folder_; }
  // Resident memory of coved, in MiB.
  double memory() const {
    std::ifstream children("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children");
    for (std::string pid; children >> pid;) {
      std::ifstream name("/proc/" + pid + "/comm");
      std::string comm;
      name >> comm;
      if (comm != "coved") continue;
      std::ifstream statm("/proc/" + pid + "/statm");
      long size = 0, resident = 0;
      statm >> size >> resident;
      return static_cast<double>(resident) * 4096 / (1 << 20);
    }
    return 0;
  }

 private:
  std::string folder_;
  std::string socket_;
  pid_t pid_ = -1;
};

std::string create(Line& line, const std::string& body = "{\"limits\":{\"memory\":\"32m\"}}") {
  return nlohmann::json::parse(line.ask("POST", "/v1/sandboxes", body).body)["id"];
}

void exec_true(Line& line, const std::string& id) {
  line.ask("POST", "/v1/sandboxes/" + id + "/execs?wait=true", "{\"argv\":[\"true\"]}");
}

void remove(Line& line, const std::string& id) { line.ask("DELETE", "/v1/sandboxes/" + id); }

void measure_cold(Line& line) {
  std::vector<Samples> rows = alternate({{"bwrap", [] { spawn_and_wait(kBwrap); }},
                                         {"API: create, exec true, delete",
                                          [&] {
                                            std::string id = create(line, "{}");
                                            exec_true(line, id);
                                            remove(line, id);
                                          }}},
                                        kRounds);
  print_table(rows);
  print_ratio("api_cold_vs_bwrap", rows[1].median() / rows[0].median());
}

void measure_exec(Line& line) {
  std::string id = create(line);
  std::vector<Samples> rows = alternate(
      {{"posix_spawn", [] { spawn_and_wait({"true"}); }}, {"API: exec true, wait", [&] { exec_true(line, id); }}},
      kRounds * 2);
  print_table(rows);
  print_ratio("api_exec_vs_spawn", rows[1].median() / rows[0].median());
  remove(line, id);
}

std::string make_large(const std::string& folder) {
  std::string path = folder + "/large";
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::string piece(1 << 20, 'x');
  for (uint64_t done = 0; done < kLarge; done += piece.size()) write_all(fd, piece);
  ::close(fd);
  return path;
}

void copy(int from, int to, uint64_t bytes) {
  std::string piece(kPiece, '\0');
  while (bytes > 0) {
    ssize_t count = ::read(from, piece.data(), std::min<uint64_t>(piece.size(), bytes));
    if (count <= 0) give_up("read");
    write_all(to, std::string_view(piece).substr(0, static_cast<size_t>(count)));
    bytes -= static_cast<uint64_t>(count);
  }
}

// `cat from` at one end of a Unix socket, `cat > to` at the other.
void cat_through_socket(const std::string& from, const std::string& to) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) give_up("socketpair");
  pid_t pid = ::fork();
  if (pid == 0) {
    int out = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    copy(pair[1], out, kLarge);
    ::_exit(0);
  }
  int in = ::open(from.c_str(), O_RDONLY);
  copy(in, pair[0], kLarge);
  ::close(in);
  ::waitpid(pid, nullptr, 0);
  ::close(pair[0]);
  ::close(pair[1]);
}

void measure_files(Server& server, Line& line) {
  constexpr int kFileRounds = 5;
  std::string large = make_large(server.folder());
  std::string copied = server.folder() + "/copied";
  std::string id = create(line, "{\"limits\":{\"memory\":\"4g\"}}");
  std::string target = "/v1/sandboxes/" + id + "/files?path=/home/user/large";
  double before = server.memory();
  auto upload = [&] {
    line.send_head("PUT", target, kLarge);
    int in = ::open(large.c_str(), O_RDONLY);
    copy(in, line.fd(), kLarge);
    ::close(in);
    line.read_answer();
  };
  auto download = [&] {
    line.send_head("GET", target, 0);
    if (line.drain_answer() != kLarge) give_up("the download is not whole");
  };
  upload();  // the pool grows to its size once
  std::vector<Samples> up = alternate({{"cat into a file", [&] { cat_through_socket(large, copied); }},
                                       {"API: upload 1 GiB", upload}},
                                      kFileRounds);
  std::vector<Samples> down = alternate({{"cat into nothing", [&] { cat_through_socket(large, "/dev/null"); }},
                                         {"API: download 1 GiB", download}},
                                        kFileRounds);
  print_table(up);
  print_table(down);
  print_ratio("upload", up[0].median() / up[1].median());
  print_ratio("download", down[0].median() / down[1].median());
  std::printf("server memory %.1f MiB before, %.1f MiB after\n", before, server.memory());
  remove(line, id);
}

void measure_idle(Server& server, Line& line) {
  std::string id = create(line);
  std::vector<Samples> one = alternate({{"exec, 1 sandbox", [&] { exec_true(line, id); }},
                                        {"list, 1 sandbox", [&] { line.ask("GET", "/v1/sandboxes?limit=1"); }}},
                                       kRounds);
  double before = server.memory();
  std::vector<std::string> ids;
  for (int i = 0; i < kIdle; ++i) ids.push_back(create(line, "{\"limits\":{\"memory\":\"16m\",\"disk\":\"1g\"}}"));
  double after = server.memory();
  std::vector<Samples> many =
      alternate({{"exec, 500 idle beside it", [&] { exec_true(line, id); }},
                 {"list of 1, 500 idle", [&] { line.ask("GET", "/v1/sandboxes?limit=1"); }}},
                kRounds);
  std::vector<Samples> all =
      alternate({{"list of 500", [&] { line.ask("GET", "/v1/sandboxes?limit=500"); }}}, kRounds / 4);
  print_table(one);
  print_table(many);
  print_table(all);
  print_ratio("exec_500_idle_vs_1", many[0].median() / one[0].median());
  print_ratio("list_500_idle_vs_1", many[1].median() / one[1].median());
  std::printf("server memory with 1 sandbox %.1f MiB, with %d more %.1f MiB\n", before, kIdle, after);
  for (const std::string& each : ids) remove(line, each);
  remove(line, id);
}

}  // namespace
}  // namespace cove::bench

int main(int argc, char** argv) {
  using namespace cove::bench;
  std::string only = argc > 1 ? argv[1] : "";
  Server server;
  Line line(server.socket());
  remove(line, create(line));  // the image is made by the first
  if (only.empty() || only == "cold") measure_cold(line);
  if (only.empty() || only == "exec") measure_exec(line);
  if (only.empty() || only == "files") measure_files(server, line);
  if (only.empty() || only == "idle") measure_idle(server, line);
}
