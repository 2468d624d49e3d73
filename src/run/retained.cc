#include "run/retained.h"

#include <algorithm>

#include "base/text.h"

namespace cove {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Drops an incomplete UTF-8 character at the cut, so that text stays valid. Binary data loses at most three bytes.
void cut_between_characters(std::string& head, std::string& tail) {
  size_t begin = 0;
  while (begin < 3 && begin < tail.size() && continues(tail[begin])) ++begin;
  tail.erase(0, begin);
  size_t end = head.size();
  while (end > 0 && head.size() - end < 3 && continues(head[end - 1])) --end;
  if (end > 0 && static_cast<unsigned char>(head[end - 1]) >= 0xc0) head.resize(end - 1);
}

}  // namespace

void Retained::add(std::string_view data) {
  total_ += data.size();
  size_t room = head_most_ - head_.size();
  head_.append(data.substr(0, room));
  data.remove_prefix(std::min(room, data.size()));
  if (data.size() > tail_most_) data.remove_prefix(data.size() - tail_most_);
  size_t growth = std::min<size_t>(tail_most_ - tail_.size(), data.size());
  tail_.append(data.substr(0, growth));
  data.remove_prefix(growth);
  while (!data.empty()) {
    size_t piece = std::min(data.size(), tail_.size() - next_);
    tail_.replace(next_, piece, data.substr(0, piece));
    next_ = (next_ + piece) % tail_.size();
    data.remove_prefix(piece);
  }
}

CapturedStream Retained::take() {
  CapturedStream stream;
  stream.bytes = total_;
  std::rotate(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(next_), tail_.end());
  stream.truncated = total_ > head_.size() + tail_.size();
  if (stream.truncated) cut_between_characters(head_, tail_);
  uint64_t kept = head_.size() + tail_.size();
  stream.data = std::move(head_);
  if (stream.truncated) stream.data += concat("\n[… ", total_ - kept, " bytes left out …]\n");
  stream.data += tail_;
  return stream;
}

}  // namespace cove
