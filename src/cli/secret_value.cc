#include "cli/secret_value.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "base/text.h"
#include "sys/file.h"
#include "sys/program.h"

namespace cove::cli {
namespace {

constexpr size_t kLargest = 64 * 1024;
constexpr size_t kMostRead = 4 * kLargest;  // so that one that is too large is told apart from one that is cut off
constexpr std::chrono::minutes kCommandPatience{5};

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each; ++each) variables.emplace_back(*each);
  return variables;
}

// Shows nothing of what is typed, as long as it exists. An interrupt waits until then.
class Silence {
 public:
  explicit Silence(int terminal) : terminal_(terminal) {
    ::sigemptyset(&interrupts_);
    for (int number : {SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGHUP}) ::sigaddset(&interrupts_, number);
    ::sigprocmask(SIG_BLOCK, &interrupts_, &before_);
    works_ = ::tcgetattr(terminal_, &modes_) == 0;
    termios silent = modes_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG);
    silent.c_lflag |= ECHONL;
    works_ = works_ && ::tcsetattr(terminal_, TCSAFLUSH, &silent) == 0;
  }
  ~Silence() {
    if (works_) ::tcsetattr(terminal_, TCSAFLUSH, &modes_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Silence(const Silence&) = delete;
  bool works() const { return works_; }

 private:
  int terminal_;
  bool works_ = false;
  termios modes_ = {};
  sigset_t interrupts_ = {};
  sigset_t before_ = {};
};

constexpr char kInterrupt = 3;  // what Ctrl-C types where it is no signal

Result<std::string> ask(const std::string& name) {
  UniqueFd terminal = COVE_TRY(sys::open("/dev/tty", O_RDWR | O_NOCTTY));
  COVE_TRY(sys::write_all(terminal.get(), concat("Value of ", name, " (not shown): ")));
  Silence silence(terminal.get());
  if (!silence.works()) return fail_errno("turn off the echo of the terminal");
  std::string value;
  char c = 0;
  while (value.size() < kMostRead && ::read(terminal.get(), &c, 1) == 1 && c != '\n') {
    if (c == kInterrupt) return fail(Code::Invalid, "interrupted: nothing was set");
    value += c;
  }
  return value;
}

Result<std::string> output_of(const std::string& command) {
  Result<std::string> output = sys::output_of(
      {.argv = {"/bin/sh", "-c", command}, .env = own_environment(), .most = kMostRead, .patience = kCommandPatience});
  if (output) return output;
  return fail(std::move(output).error().note("--command").hint("run it by itself to see what it says"));
}

Result<std::string> read(const ValueSource& source, const std::string& name) {
  if (!source.file.empty() && !source.command.empty())
    return fail(Code::Invalid, "--file and --command cannot be combined");
  if (!source.file.empty()) return sys::read_file(source.file, kMostRead);
  if (!source.command.empty()) return output_of(source.command);
  if (::isatty(STDIN_FILENO)) return ask(name);
  return sys::read_all(STDIN_FILENO, kMostRead);
}

}  // namespace

Result<std::string> read_secret_value(const ValueSource& source, const std::string& name) {
  std::string value = COVE_TRY(read(source, name));
  if (value.ends_with('\n')) value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
  if (value.empty())
    return fail(Error(Code::Invalid, concat("the value of ", name, " is empty"))
                    .hint("type it, or pass it on standard input, with --file or --command"));
  if (value.size() <= kLargest) return value;
  return fail(Code::Invalid,
              concat("the value of ", name, " is larger than the ", format_bytes(kLargest), " that a secret can have"));
}

}  // namespace cove::cli
