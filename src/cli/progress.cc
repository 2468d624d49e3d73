#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/table.h"
#include "run/caller.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

constexpr size_t kBarWidth = 20;

void put(std::string_view text) { static_cast<void>(sys::write_all(STDERR_FILENO, text)); }

std::string bar(double share) {
  auto filled = static_cast<size_t>(share * kBarWidth);
  return concat("[", std::string(filled, '#'), std::string(kBarWidth - filled, '.'), "]");
}

}  // namespace

std::string progress_line(const std::string& what, uint64_t done, std::optional<uint64_t> total, double seconds,
                          size_t width) {
  auto rate = static_cast<uint64_t>(static_cast<double>(done) / std::max(seconds, 0.001));
  std::string line = concat(" ", format_bytes(done));
  if (total && *total > 0) {
    double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(*total));
    line = concat(" ", bar(share), " ", static_cast<int>(share * 100), "%", line, " of ", format_bytes(*total));
  }
  line += concat(", ", format_bytes(rate), "/s");
  size_t room = width > line.size() + 1 ? width - line.size() - 1 : 1;
  return shorten(printable(what), room) + line;
}

ProgressBar::ProgressBar(std::string what, std::optional<uint64_t> total, Show show)
    : what_(std::move(what)), total_(total), shown_(show == Show::AtTerminal && ::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (!drawn_) return;
  draw(Clock::now());
  put("\n");
}

client::Progress ProgressBar::progress() {
  if (!shown_) return {};
  return [this](uint64_t bytes) { add(bytes); };
}

void ProgressBar::add(uint64_t bytes) {
  done_ += bytes;
  Clock::time_point now = Clock::now();
  if (now >= next_) draw(now);
}

void ProgressBar::draw(Clock::time_point now) {
  drawn_ = true;
  next_ = now + std::chrono::milliseconds(100);
  double seconds = std::chrono::duration<double>(now - begin_).count();
  put(concat("\r", progress_line(what_, done_, total_, seconds, Caller::window_size().columns), "\x1b[K"));
}

}  // namespace cove::cli
