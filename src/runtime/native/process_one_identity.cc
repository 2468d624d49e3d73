#include "runtime/native/process_one_identity.h"

#include <poll.h>

#include "init/protocol.h"
#include "sys/socket.h"

namespace cove::native {

Result<UniqueFd> connect_to_process_one(const std::string& socket_path) {
  return sys::connect_unix(socket_path, static_cast<int>(kAnswerTimeout.count()));
}

Result<UniqueFd> ask_identity(int control) {
  const auto until = std::chrono::steady_clock::now() + kAnswerTimeout;
  COVE_TRY(sys::send_message(control, wire::Writer(wire::Type::IdentityRequest).data(), {}, MSG_DONTWAIT));
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd polled = {control, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&polled, 1, static_cast<int>(left.count())) <= 0)
      return fail(Code::Unavailable, "process 1 does not respond");
    sys::Message answer = COVE_TRY(sys::receive_message(control, wire::kMaxMessage, MSG_DONTWAIT));
    if (answer.data.empty()) return fail(Code::Unavailable, "process 1 is gone");
    if (wire::Reader(answer.data).type<wire::Type>() != wire::Type::Identity) continue;
    if (answer.fds.size() != 1) return fail(Code::Internal, "process 1 did not identify itself");
    return std::move(answer.fds[0]);
  }
}

}  // namespace cove::native
