#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

// The server's own log: lines on standard error.
//
//   2026-11-15T22:40:00.123Z info  serving address=unix:/run/cove/api.sock
//
// Each line is one write, so that lines of several threads do not mix. Whatever a caller could have made up (a path, a
// header) is a value: control characters in it are escaped, and it cannot look like a line of its own.
namespace cove::log {

enum class Level { Debug, Info, Warning, Error };

// Lines below it are left out; Info at first. Any thread.
void set_level(Level least);
bool shows(Level level);

using Pairs = std::initializer_list<std::pair<std::string_view, std::string>>;
void write(Level level, std::string_view message, Pairs pairs = {});

inline void debug(std::string_view message, Pairs pairs = {}) { write(Level::Debug, message, pairs); }
inline void info(std::string_view message, Pairs pairs = {}) { write(Level::Info, message, pairs); }
inline void warning(std::string_view message, Pairs pairs = {}) { write(Level::Warning, message, pairs); }
inline void error(std::string_view message, Pairs pairs = {}) { write(Level::Error, message, pairs); }

// The line, without its time.
std::string format(Level level, std::string_view message, Pairs pairs);

}  // namespace cove::log
