#include "api_server.h"

#include <fcntl.h>
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

#include "measure.h"

namespace cove::bench {
namespace {

int connect_to(const std::string& path) {
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

[[noreturn]] void become_server(const std::string& folder, const std::vector<std::string>& settings) {
  ::setenv("COVE_STATE", (folder + "/state").c_str(), 1);
  int log = ::open((folder + "/log").c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(log, 2);
  std::vector<std::string> words = {folder_of_programs() + "/cove-spawn", "serve"};
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

void give_up(const std::string& what) {
  std::fprintf(stderr, "bench: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

void write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    ssize_t count = ::write(fd, data.data(), data.size());
    if (count <= 0) give_up("write");
    data.remove_prefix(static_cast<size_t>(count));
  }
}

Line::Line(const std::string& path) : fd_(connect_to(path)) {
  if (fd_ < 0) give_up("connect to " + path);
}

Line::~Line() { ::close(fd_); }

Line::Answer Line::ask(const std::string& method, const std::string& target, const std::string& body) {
  send_head(method, target, body.size(), body);
  return read_answer();
}

void Line::send_head(const std::string& method, const std::string& target, size_t length, const std::string& body) {
  std::string head = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
                     "Content-Length: " + std::to_string(length) + "\r\n\r\n" + body;
  write_all(fd_, head);
}

Line::Answer Line::read_answer() {
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

uint64_t Line::drain_answer() {
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

std::string Line::create(const std::string& body) {
  return nlohmann::json::parse(ask("POST", "/v1/sandboxes", body).body)["id"];
}

// A program that could not be started is quick, too.
void Line::exec(const std::string& id, const std::string& body) {
  Answer answer = ask("POST", "/v1/sandboxes/" + id + "/execs?wait=true", body);
  if (answer.body.find("\"exit_code\":0,") != answer.body.npos) return;
  std::fprintf(stderr, "bench: %s did not end with 0: %s\n", body.c_str(), answer.body.c_str());
  std::exit(1);
}

void Line::exec_true(const std::string& id) { exec(id, R"({"argv":["true"]})"); }

void Line::remove(const std::string& id) { ask("DELETE", "/v1/sandboxes/" + id); }

void Line::fill() {
  char piece[65536];
  ssize_t count = ::read(fd_, piece, sizeof piece);
  if (count <= 0) give_up("the server closed the connection");
  buffer_.append(piece, static_cast<size_t>(count));
}

size_t Line::read_head() {
  size_t end;
  while ((end = buffer_.find("\r\n\r\n")) == buffer_.npos) fill();
  return end + 4;
}

size_t Line::length_in(size_t end) const {
  size_t at = buffer_.find("Content-Length: ");
  return at < end ? std::strtoull(buffer_.c_str() + at + 16, nullptr, 10) : 0;
}

Server::Server(const std::vector<std::string>& settings) {
  char name[] = "/var/tmp/cove-bench-XXXXXX";
  folder_ = ::mkdtemp(name);
  ::chmod(folder_.c_str(), 0755);  // the server runs as another user
  socket_ = folder_ + "/state/run/api.sock";
  pid_ = ::fork();
  if (pid_ == 0) become_server(folder_, settings);
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

Server::~Server() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
  std::filesystem::remove_all(folder_);
}

double Server::memory() const {
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

}  // namespace cove::bench
