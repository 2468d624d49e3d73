#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include "base/encoding.h"

namespace cove::log {
namespace {

std::atomic<Level> least_shown = Level::Info;

constexpr std::string_view kNames[] = {"debug", "info ", "warn ", "error"};

bool is_plain(std::string_view text) {
  for (unsigned char c : text)
    if (c <= ' ' || c == '"' || c == '=' || c == 0x7f) return false;
  return !text.empty();
}

void append_escaped(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
}

void append_value(std::string& out, std::string_view text) {
  if (is_plain(text)) {
    out += text;
    return;
  }
  out += '"';
  append_escaped(out, text);
  out += '"';
}

int64_t now_ms() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

void set_level(Level least) { least_shown.store(least, std::memory_order_relaxed); }

bool shows(Level level) { return level >= least_shown.load(std::memory_order_relaxed); }

std::string format(Level level, std::string_view message, Pairs pairs) {
  std::string line(kNames[static_cast<size_t>(level)]);
  line += ' ';
  append_escaped(line, message);
  for (const auto& [name, value] : pairs) {
    line += ' ';
    line += name;
    line += '=';
    append_value(line, value);
  }
  return line;
}

void write(Level level, std::string_view message, Pairs pairs) {
  if (!shows(level)) return;
  std::string line = format_time(now_ms()) + ' ' + format(level, message, pairs) + '\n';
  // A log that cannot be written is no reason to stop.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace cove::log
