#include "registry.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "api_server.h"

extern char** environ;

namespace cove::bench {
namespace {

int free_port() {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) < 0) give_up("bind");
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) < 0) give_up("getsockname");
  ::close(fd);
  return ntohs(address.sin_port);
}

}  // namespace

Registry::Registry(const std::string& folder) : port_(free_port()) {
  std::string config = folder + "/registry.yml";
  FILE* file = std::fopen(config.c_str(), "w");
  if (!file) give_up(config);
  std::fprintf(file,
               "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s/registry\n"
               "http:\n  addr: 127.0.0.1:%d\nlog:\n  level: error\n",
               folder.c_str(), port_);
  std::fclose(file);
  std::string words[] = {"docker-registry", "serve", config};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t quiet;
  ::posix_spawn_file_actions_init(&quiet);
  ::posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
  if (::posix_spawnp(&pid_, argv[0], &quiet, nullptr, argv, environ) != 0) give_up("start docker-registry");
  ::posix_spawn_file_actions_destroy(&quiet);
}

Registry::~Registry() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string Registry::address(const std::string& name) const {
  return "127.0.0.1:" + std::to_string(port_) + "/" + name;
}

void Registry::push(const std::string& layout, const std::string& tag, const std::string& name) const {
  const std::string words = "skopeo copy -q --dest-tls-verify=false oci:" + layout + ":" + tag + " docker://" +
                            address(name) + " >/dev/null 2>&1";
  // It may not be up yet.
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (std::system(words.c_str()) == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  give_up("push the image");
}

}  // namespace cove::bench
