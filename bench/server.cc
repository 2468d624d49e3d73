// The API beside what it could cost at least: a sandbox of bubblewrap, a posix_spawn, `cat` through a socket.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "api_server.h"
#include "measure.h"

namespace cove::bench {
namespace {

const Command kBwrap = {"bwrap", "--unshare-all", "--ro-bind", "/",       "/",    "--proc",
                        "/proc", "--dev",         "/dev",      "--tmpfs", "/tmp", "true"};
constexpr int kRounds = 200;
constexpr int kIdle = 500;
constexpr uint64_t kLarge = 1 << 30;

void measure_cold(Line& line) {
  std::vector<Samples> rows = alternate({{"bwrap", [] { spawn_and_wait(kBwrap); }},
                                         {"API: create, exec true, delete",
                                          [&] {
                                            std::string id = line.create("{}");
                                            line.exec_true(id);
                                            line.remove(id);
                                          }}},
                                        kRounds);
  print_table(rows);
  print_ratio("api_cold_vs_bwrap", rows[1].median() / rows[0].median());
}

void measure_exec(Line& line) {
  std::string id = line.create("{\"limits\":{\"memory\":\"32m\"}}");
  std::vector<Samples> rows = alternate(
      {{"posix_spawn", [] { spawn_and_wait({"true"}); }}, {"API: exec true, wait", [&] { line.exec_true(id); }}},
      kRounds * 2);
  print_table(rows);
  print_ratio("api_exec_vs_spawn", rows[1].median() / rows[0].median());
  line.remove(id);
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
  std::string id = line.create("{\"limits\":{\"memory\":\"4g\"}}");
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
  std::vector<Samples> up = alternate(
      {{"cat into a file", [&] { cat_through_socket(large, copied); }}, {"API: upload 1 GiB", upload}}, kFileRounds);
  std::vector<Samples> down = alternate(
      {{"cat into nothing", [&] { cat_through_socket(large, "/dev/null"); }}, {"API: download 1 GiB", download}},
      kFileRounds);
  print_table(up);
  print_table(down);
  print_ratio("upload", up[0].median() / up[1].median());
  print_ratio("download", down[0].median() / down[1].median());
  std::printf("server memory %.1f MiB before, %.1f MiB after\n", before, server.memory());
  line.remove(id);
}

void measure_idle(Server& server, Line& line) {
  std::string id = line.create("{\"limits\":{\"memory\":\"32m\"}}");
  std::vector<Samples> one = alternate({{"exec, 1 sandbox", [&] { line.exec_true(id); }},
                                        {"list, 1 sandbox", [&] { line.ask("GET", "/v1/sandboxes?limit=1"); }}},
                                       kRounds);
  double before = server.memory();
  std::vector<std::string> ids;
  for (int i = 0; i < kIdle; ++i) ids.push_back(line.create("{\"limits\":{\"memory\":\"16m\",\"disk\":\"1g\"}}"));
  double after = server.memory();
  std::vector<Samples> many = alternate({{"exec, 500 idle beside it", [&] { line.exec_true(id); }},
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
  for (const std::string& each : ids) line.remove(each);
  line.remove(id);
}

}  // namespace
}  // namespace cove::bench

int main(int argc, char** argv) {
  using namespace cove::bench;
  std::string only = argc > 1 ? argv[1] : "";
  Server server({"pool.size=0"});  // what is measured here is made when it is asked for
  Line line(server.socket());
  line.remove(line.create("{\"limits\":{\"memory\":\"32m\"}}"));  // the image is made by the first
  if (only.empty() || only == "cold") measure_cold(line);
  if (only.empty() || only == "exec") measure_exec(line);
  if (only.empty() || only == "files") measure_files(server, line);
  if (only.empty() || only == "idle") measure_idle(server, line);
}
