#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "sys/socket.h"

// What the fuzzers of the channels share: an input is a list of messages, each a byte about it, its length as two
// bytes, the lower one first, and its content. A last one that is cut short is taken as it is.
namespace cove::fuzz {

inline constexpr size_t kMostMessages = 32;

inline void require(bool held) {
  if (!held) std::abort();
}

struct Piece {
  uint8_t about;
  std::string_view content;
};

inline std::vector<Piece> split_pieces(std::string_view input) {
  std::vector<Piece> pieces;
  while (input.size() >= 3 && pieces.size() < kMostMessages) {
    auto byte = [&](size_t i) { return static_cast<uint8_t>(input[i]); };
    size_t length = byte(1) | static_cast<size_t>(byte(2)) << 8;
    std::string_view content = input.substr(3, length);
    pieces.push_back({byte(0), content});
    input.remove_prefix(3 + content.size());
  }
  return pieces;
}

inline std::string join_piece(uint8_t about, std::string_view content) {
  std::string piece = {static_cast<char>(about), static_cast<char>(content.size() & 0xff),
                       static_cast<char>(content.size() >> 8)};
  return piece.append(content);
}

// A descriptor that leads to nothing. By the system call itself: a fuzzer may have an `open` of its own.
inline UniqueFd open_nothing() {
  return UniqueFd(static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC)));
}

inline std::vector<UniqueFd> open_nothings(size_t count) {
  std::vector<UniqueFd> fds;
  while (fds.size() < count) fds.push_back(open_nothing());
  return fds;
}

// The other end of a channel whose first end is what is being fuzzed.
class Peer {
 public:
  Peer() {
    Result<sys::SocketPair> pair = sys::socketpair(SOCK_SEQPACKET);
    require(pair.has_value());
    first_ = std::move(pair->first);
    own_ = std::move(pair->second);
  }

  UniqueFd take_first() { return std::move(first_); }
  // What does not fit into the socket is lost.
  void say(std::string_view data, size_t fds = 0) {
    std::vector<UniqueFd> given = open_nothings(fds);
    std::vector<int> numbers;
    for (const UniqueFd& fd : given) numbers.push_back(fd.get());
    say_with(data, numbers);
  }
  void say_with(std::string_view data, const std::vector<int>& fds) {
    static_cast<void>(sys::send_message(own_.get(), data, fds, MSG_DONTWAIT));
  }
  // The other side reads what was said, then the end; what it says itself still arrives.
  void end() { ::shutdown(own_.get(), SHUT_WR); }
  // What it has said meanwhile.
  std::vector<sys::Message> hear() {
    std::vector<sys::Message> heard;
    while (Result<sys::Message> message = sys::receive_message(own_.get(), 1 << 20, MSG_DONTWAIT)) {
      if (message->data.empty()) break;
      heard.push_back(std::move(*message));
    }
    return heard;
  }

 private:
  UniqueFd first_;
  UniqueFd own_;
};

}  // namespace cove::fuzz
