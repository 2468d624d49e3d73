#include "cli/image_progress.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/table.h"
#include "run/caller.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

using client::count_of;
using client::text_of;

constexpr size_t kBarWidth = 24;
constexpr size_t kIdWidth = 12;

std::string bar(uint64_t done, uint64_t size) {
  size_t filled = size == 0 ? kBarWidth : static_cast<size_t>(std::min<uint64_t>(kBarWidth, done * kBarWidth / size));
  return concat("[", std::string(filled, '#'), std::string(kBarWidth - filled, '.'), "]");
}

std::string line_of(const Json& layer) {
  std::string digest = text_of(layer, "digest");
  std::string id = digest.substr(std::min(digest.find(':') + 1, digest.size()), kIdWidth);
  std::string state = text_of(layer, "state");
  uint64_t size = count_of(layer, "size_bytes");
  uint64_t done = state == "exists" ? size : count_of(layer, "done_bytes");
  std::string words = state == "fetching" ? concat(format_bytes(done), " of ", format_bytes(size))
                                          : concat(state, ", ", format_bytes(size));
  return concat(printable(id), " ", bar(done, size), " ", printable(words));
}

}  // namespace

std::vector<std::string> pull_lines(const Json& operation, size_t width, size_t most) {
  std::vector<std::string> lines;
  const Json& layers = client::field(operation, "layers");
  size_t left_out = 0;
  for (const Json& layer : layers) {
    if (lines.size() + 1 < most)
      lines.push_back(shorten(line_of(layer), width));
    else
      ++left_out;
  }
  if (left_out > 0) lines.push_back(concat("… and ", left_out, " more"));
  return lines;
}

PullDisplay::PullDisplay(Show show) : shown_(show == Show::AtTerminal && ::isatty(STDERR_FILENO) == 1) {}

void PullDisplay::draw(const Json& operation) {
  if (!shown_) return;
  WindowSize window = Caller::window_size();
  std::vector<std::string> lines = pull_lines(operation, window.columns, std::max<size_t>(window.rows, 3) - 1);
  std::string text = drawn_ > 0 ? concat("\x1b[", drawn_, "A") : "";
  for (const std::string& line : lines) text += concat("\r", line, "\x1b[K\n");
  drawn_ = lines.size();
  static_cast<void>(sys::write_all(STDERR_FILENO, text));
}

}  // namespace cove::cli
