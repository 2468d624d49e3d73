#pragma once

#include <termios.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/exec.h"

namespace cove {

// The caller's side of a run: signals and terminal. Both are restored on destruction.
class Caller {
 public:
  // Catches the signals that are passed on (INT, TERM, HUP, QUIT, USR1, USR2, WINCH, CONT) from now on.
  static Result<Caller> create();
  Caller(Caller&& other) noexcept
      : signals_(std::move(other.signals_)), saved_(std::exchange(other.saved_, std::nullopt)) {}
  ~Caller();

  int signals() const { return signals_.get(); }
  struct Signal {
    int number;
    bool from_terminal;
  };
  std::optional<Signal> next_signal();

  // Enables raw mode, so that every key reaches the program; does nothing if stdin is not a terminal.
  void enter_raw_mode();
  static WindowSize window_size();

 private:
  Caller() = default;
  UniqueFd signals_;
  std::optional<termios> saved_;
};

}  // namespace cove
