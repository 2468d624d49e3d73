#include "support/container_engine.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace cove::test {

ContainerEngine::ContainerEngine(const std::string& kind) {
  char folder[] = "/tmp/cove-engine-XXXXXX";
  int in[2];
  int out[2];
  if (::mkdtemp(folder) == nullptr || ::pipe2(in, O_CLOEXEC) < 0 || ::pipe2(out, O_CLOEXEC) < 0) return;
  folder_ = folder;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::execl(COVE_TEST_FOLDER "/engines/start", "start", kind.c_str(), folder, nullptr);
    ::_exit(99);
  }
  ::close(in[0]);
  ::close(out[1]);
  input_.reset(in[1]);
  UniqueFd output(out[0]);
  char word[6] = {};
  running_ = ::read(output.get(), word, sizeof word) == sizeof word;
}

ContainerEngine::~ContainerEngine() {
  input_.reset();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

}  // namespace cove::test
