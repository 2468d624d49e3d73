#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "cli/relay.h"
#include "cli/session.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

using client::text_of;

constexpr int kBacklog = 128;

constexpr Option<CommonOrder> kOptions[] = {
    kProjectOption<CommonOrder>,
    kHelpOption<CommonOrder>,
};

constexpr Form kForm = {
    .verb = "forward",
    .usage = "[OPTIONS] SANDBOX [LOCAL:]PORT…",
    .text =
        "Forwards ports of this machine (127.0.0.1) to ports of a sandbox, for any protocol over TCP, until Ctrl-C. "
        "Each\n"
        "port has the same number here unless LOCAL names another; 0 chooses a free one.",
    .least = 2,
    .most = kMany,
    .more = "Examples:\n  cove forward box 3000\n  cove forward box 8080:80 15432:5432",
};

struct Forward {
  uint16_t local = 0;
  uint16_t port = 0;
  UniqueFd listener = {};
};

Result<uint16_t> parse_port(std::string_view text, int64_t lowest) {
  return static_cast<uint16_t>(COVE_TRY(parse_integer(text, lowest, UINT16_MAX)));
}

Result<Forward> parse_forward(const std::string& word) {
  const size_t colon = word.find(':');
  Forward forward;
  auto parse = [&]() -> Result<void> {
    forward.port = COVE_TRY(parse_port(word.substr(colon == std::string::npos ? 0 : colon + 1), 1));
    forward.local = colon == std::string::npos ? forward.port : COVE_TRY(parse_port(word.substr(0, colon), 0));
    return {};
  };
  if (parse()) return forward;
  return fail(Error(Code::Invalid, concat("'", word, "' is not [LOCAL:]PORT")).hint("write 3000 or 8080:3000"));
}

Error cannot_listen(const Forward& forward, int errnum) {
  Error error = Error::from_errno(errnum, concat("listen at 127.0.0.1:", forward.local));
  if (errnum == EADDRINUSE || errnum == EACCES)
    return std::move(error).hint(concat("choose another local port: 0:", forward.port, " takes a free one"));
  return error;
}

Result<void> listen(Forward& forward) {
  forward.listener.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!forward.listener) return fail_errno("socket");
  int on = 1;
  ::setsockopt(forward.listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(forward.local);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* place = reinterpret_cast<sockaddr*>(&address);
  if (::bind(forward.listener.get(), place, size) < 0 || ::listen(forward.listener.get(), kBacklog) < 0)
    return fail(cannot_listen(forward, errno));
  if (::getsockname(forward.listener.get(), place, &size) < 0) return fail_errno("getsockname");
  forward.local = ntohs(address.sin_port);
  return {};
}

Result<std::vector<Forward>> listen_at(const std::vector<std::string>& words) {
  std::vector<Forward> forwards;
  for (const std::string& word : words) forwards.push_back(COVE_TRY(parse_forward(word)));
  for (Forward& forward : forwards) COVE_TRY(listen(forward));
  return forwards;
}

// A sandbox that resumes by itself is left to do so.
Result<void> check_sandbox(Api& api, const std::string& name, const std::vector<Forward>& forwards) {
  const Json sandbox = COVE_TRY(api.sandbox(name));
  const std::string state = text_of(sandbox, "state");
  const bool resumes = client::flag_of(client::field(sandbox, "lifecycle"), "auto_resume");
  if (state != "running" && !resumes)
    return fail(Error(Code::Conflict, concat("sandbox ", name, " is ", state))
                    .hint(concat("cove ", state == "paused" ? "resume " : "start ", name)));
  if (state != "running") return {};
  const std::vector<Json> ports = COVE_TRY(api.ports(name));
  for (const Forward& forward : forwards)
    if (std::ranges::none_of(ports, [&](const Json& port) { return client::count_of(port, "port") == forward.port; }))
      tell(concat("nothing listens at port ", forward.port, " of sandbox ", name, " yet"));
  return {};
}

// One connection, in a process of its own: whatever it waits for, the others go on.
[[noreturn]] void serve(const Api& api, const std::string& sandbox, uint16_t port, const UniqueFd& near) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  auto far = api.connect_port(sandbox, port);
  if (!far) {
    complain(far.error());
    // A reset, rather than an end: the caller sees that it was not served.
    linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(near.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::_exit(1);
  }
  relay(near.get(), (*far)->fd(), std::string((*far)->unread()));
  ::_exit(0);
}

Result<void> accept_one(const Api& api, const std::string& sandbox, const Forward& forward) {
  UniqueFd near(::accept4(forward.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!near) return {};
  pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) serve(api, sandbox, forward.port, near);
  return {};
}

Result<void> forward_all(const CommonOrder& order, const std::vector<std::string>& operands) {
  const std::string& sandbox = operands[0];
  std::vector<Forward> forwards = COVE_TRY(listen_at({operands.begin() + 1, operands.end()}));
  Api api = COVE_TRY(open_server(order));
  COVE_TRY(check_sandbox(api, sandbox, forwards));
  ::signal(SIGCHLD, SIG_IGN);  // ended children leave nothing
  std::vector<pollfd> polled;
  for (const Forward& forward : forwards) {
    print(concat("http://127.0.0.1:", forward.local, "/ is port ", forward.port, " of sandbox ", sandbox, "\n"));
    polled.push_back({forward.listener.get(), POLLIN, 0});
  }
  while (true) {
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return fail_errno("poll");
    for (size_t i = 0; i < polled.size(); ++i)
      if (polled[i].revents) COVE_TRY(accept_one(api, sandbox, forwards[i]));
  }
}

int forward(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto ended = forward_all(words->order, words->operands);
  return complain(ended.error());
}

}  // namespace

Verb forward_verb() {
  return {"forward",
          "forward local ports into a sandbox",
          forward,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
