#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/gateway/byte_stream.h"
#include "net/gateway/loop.h"

namespace cove::net {

// One side of a flow: a stream with what came from it and was not used yet, and what is to go to it. Both are bounded:
// nothing is read while there is enough, and callers add nothing while has_room() is false.
class HttpSide {
 public:
  static constexpr size_t kRoom = 32 * 1024;

  // `ready` is called from the loop whenever something may move.
  HttpSide(Loop& loop, std::unique_ptr<ByteStream> stream, std::function<void()> ready);
  ~HttpSide();
  HttpSide(const HttpSide&) = delete;
  HttpSide& operator=(const HttpSide&) = delete;

  // Reads and writes what can be; whether anything moved.
  bool move();
  // Waits for what could not be.
  void watch();
  void unwatch();

  std::string_view input() const { return std::string_view(in_).substr(used_); }
  void use(size_t count);
  void send(std::string_view data) { out_ += data; }
  std::string& output() { return out_; }
  bool has_room() const { return out_.size() - sent_ < kRoom; }
  bool is_flushed() const { return sent_ == out_.size(); }
  // Ends our direction once everything is flushed.
  void shut() { wants_shut_ = true; }
  bool is_shut() const { return shut_; }

  bool ended() const { return ended_; }    // by the peer; input() may have more
  bool broken() const { return broken_; }  // nothing can be read or written
  bool open() const { return !ended_ && !broken_; }
  bool closing() const { return wants_shut_; }
  ByteStream& stream() { return *stream_; }
  const ByteStream& stream() const { return *stream_; }

 private:
  bool read();
  bool write();
  uint32_t interest() const;

  Loop& loop_;
  std::unique_ptr<ByteStream> stream_;
  std::function<void()> ready_;
  std::string in_, out_;
  size_t used_ = 0, sent_ = 0;
  bool ended_ = false, broken_ = false, deaf_ = false;
  bool wants_shut_ = false, shut_ = false;
  uint32_t watched_ = 0;
};

}  // namespace cove::net
