#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "client/connection.h"

namespace cove::cli {

// Shows the progress of a transfer in one line on standard error, if that is a terminal and the transfer takes a while.
class ProgressBar {
 public:
  enum class Show { AtTerminal, Never };
  ProgressBar(std::string what, std::optional<uint64_t> total, Show show);
  ~ProgressBar();

  // The callback for a transfer; empty if nothing is shown.
  client::Progress progress();

 private:
  using Clock = std::chrono::steady_clock;
  void add(uint64_t bytes);
  void draw(Clock::time_point now);

  std::string what_;
  std::optional<uint64_t> total_;
  bool shown_;
  bool drawn_ = false;
  uint64_t done_ = 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_ = begin_ + std::chrono::milliseconds(300);
};

// The line to draw, at most `width` columns wide.
std::string progress_line(const std::string& what, uint64_t done, std::optional<uint64_t> total, double seconds,
                          size_t width);

}  // namespace cove::cli
