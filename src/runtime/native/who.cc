#include "runtime/native/who.h"

#include <poll.h>

#include "init/protocol.h"
#include "sys/socket.h"

namespace cove::native {

Result<UniqueFd> ask_who(int control) {
  constexpr int kPatience = 5000;
  COVE_TRY(sys::send_message(control, wire::Writer(wire::Type::Who).data()));
  while (true) {
    pollfd polled = {control, POLLIN, 0};
    if (::poll(&polled, 1, kPatience) <= 0) return fail(Code::Unavailable, "process 1 does not answer");
    sys::Message answer = COVE_TRY(sys::receive_message(control, wire::kMaxMessage));
    if (answer.data.empty()) return fail(Code::Unavailable, "process 1 is gone");
    if (wire::Reader(answer.data).type() != wire::Type::Me) continue;
    if (answer.fds.size() != 1) return fail(Code::Internal, "process 1 did not say which process it is");
    return std::move(answer.fds[0]);
  }
}

}  // namespace cove::native
