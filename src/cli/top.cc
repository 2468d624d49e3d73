#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "base/text.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/usage_table.h"
#include "cli/words.h"
#include "run/caller.h"

namespace cove::cli {
namespace {

struct TopOrder : CommonOrder {
  std::chrono::milliseconds delay{2000};
  int64_t count = 0;  // 0: until interrupted
};

constexpr Option<TopOrder> kOptions[] = {
    {{"delay", 'd', "TIME", "time between updates (default: 2s)", "Options"},
     [](TopOrder& order, Text text) { return assign(order.delay, parse_duration(text)); }},
    {{"count", 'n', "NUMBER", "exit after this many updates", "Options"},
     [](TopOrder& order, Text text) { return assign(order.count, parse_integer(text, 1, INT32_MAX)); }},
    kProjectOption<TopOrder>,
    kHelpOption<TopOrder>,
};

constexpr Form kForm = {
    .verb = "top",
    .usage = "[OPTIONS] [SANDBOX…]",
    .text = "Shows the resource usage of sandboxes continuously, highest CPU usage first. Ctrl-C ends it.",
    .most = kMany,
};

// Switches to the terminal's alternate screen while this exists, so that the previous contents are restored.
class Screen {
 public:
  Screen() : terminal_(::isatty(STDOUT_FILENO) == 1) {
    if (terminal_) print("\x1b[?1049h\x1b[?25l");
  }
  ~Screen() {
    if (terminal_) print("\x1b[?25h\x1b[?1049l");
  }
  bool show(const std::string& text) const {
    if (!terminal_) return print(text + "\n");
    std::string cleared;
    size_t row = 0, rows = Caller::window_size().rows;
    for (const std::string& line : split(text, '\n'))
      if (++row < rows) cleared += line + "\x1b[K\r\n";
    return print("\x1b[H" + cleared + "\x1b[J");
  }

 private:
  bool terminal_;
};

enum class Next { Look, End };

// Signals end it, except for a change of the window's size.
Next wait(Caller& caller, std::chrono::milliseconds delay) {
  pollfd polled = {caller.signals(), POLLIN, 0};
  if (::poll(&polled, 1, static_cast<int>(delay.count())) <= 0) return Next::Look;
  while (auto signal = caller.next_signal())
    if (signal->number != SIGWINCH && signal->number != SIGCONT) return Next::End;
  return Next::Look;
}

Result<void> watch(const TopOrder& order, const std::vector<std::string>& sandboxes) {
  Api api = COVE_TRY(open_server(order));
  Caller caller = COVE_TRY(Caller::create());
  Screen screen;
  std::vector<UsageSample> before = COVE_TRY(measure(api, sandboxes));
  Next next = wait(caller, std::min(order.delay, std::chrono::milliseconds(500)));
  for (int64_t looks = 0; next == Next::Look; next = wait(caller, order.delay)) {
    std::vector<UsageSample> now = COVE_TRY(measure(api, sandboxes));
    CpuShares shares = cpu_shares(before, now);
    if (!screen.show(usage_table(now, &shares)) || ++looks == order.count) return {};
    before = std::move(now);
  }
  return {};
}

int top(const Arguments& args) {
  auto words = read_words<TopOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto watched = watch(words->order, words->operands);
  return watched ? 0 : complain(watched.error());
}

}  // namespace

Verb top_verb() {
  return {"top",
          "watch resource usage",
          top,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
