#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstddef>
#include <cstdint>

#include "init/copy_format.h"

namespace cove::init {

// A program that is held (ptrace) in the read of its script while it is copied. It goes on where it was, whatever
// becomes of the copy; it ends with the one who holds it.
class HeldProgram {
 public:
  explicit HeldProgram(pid_t pid) : pid_(pid) {}
  ~HeldProgram();
  HeldProgram(const HeldProgram&) = delete;
  HeldProgram& operator=(const HeldProgram&) = delete;

  // Stops it there; it may be on its way.
  copy::Refusal hold();
  const user_regs_struct& registers() const { return registers_; }

  // Has it make a system call. -1 where that cannot be done, or fails.
  long call(long number, uint64_t a, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0);
  // One that writes an answer; `place` is the number of the argument that says where to, from 0 on.
  template <typename Answer>
  bool ask(Answer& answer, long number, uint64_t a, int place, uint64_t d = 0) {
    const uint64_t scratch = (registers_.rsp - kFarBelow) & ~uint64_t{15};
    const uint64_t b = place == 1 ? scratch : 0;
    const uint64_t c = place == 2 ? scratch : 0;
    return call(number, a, b, c, d) >= 0 && read(scratch, &answer, sizeof answer);
  }

 private:
  static constexpr uint64_t kFarBelow = 2 * copy::kPage;  // its stack

  bool is_reading() const;
  bool stop();
  bool read(uint64_t from, void* to, size_t size) const;

  pid_t pid_;
  bool stopped_ = false;
  int signal_ = 0;  // that came while it was being stopped
  user_regs_struct registers_ = {};
};

}  // namespace cove::init
