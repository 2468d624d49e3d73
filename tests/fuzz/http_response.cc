// Bytes of a server or an engine, as a client reads them: head and body, whole and in pieces. What comes out must be
// the same, and so must the body where its chunks are read past the decoder.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "http1/chunked.h"
#include "http1/response.h"

namespace {

using namespace cove::http1;

constexpr size_t kMostHead = 2048;

void require(bool held) {
  if (!held) std::abort();
}

std::string describe(const ResponseHead& head, const Framing& framing) {
  std::string text = std::to_string(head.status) + (head.keeps_alive ? " kept " : " ") +
                     std::to_string(static_cast<int>(framing.kind)) + " " + std::to_string(framing.length);
  for (auto& [name, value] : head.headers) {
    require(is_token(name) && value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
    text += "\n" + name + ": " + value;
  }
  return text + "\n\n";
}

// The input as it comes, `step` bytes at a time.
class Source {
 public:
  Source(std::string_view input, size_t step) : rest_(input), step_(step) {}
  bool more() {
    std::string_view piece = rest_.substr(0, step_);
    rest_.remove_prefix(piece.size());
    buffer_ += piece;
    return !piece.empty();
  }
  std::string_view unread() const { return buffer_; }
  void keep(std::string_view unused) { buffer_.erase(0, buffer_.size() - unused.size()); }

 private:
  std::string_view rest_;
  size_t step_;
  std::string buffer_;
};

bool read_head(Source& source, HeadReader& reader) {
  while (source.more()) {
    std::string_view input = source.unread();
    auto whole = reader.feed(input);
    source.keep(input);
    if (!whole) return false;
    if (*whole) return true;
  }
  return false;
}

// As client::Body does: what comes past the decoder is told to it.
bool pass_data(Source& source, ChunkedDecoder& decoder, std::string& body) {
  if (decoder.left() == 0 || (source.unread().empty() && !source.more())) return false;
  std::string_view input = source.unread();
  size_t count = static_cast<size_t>(std::min<uint64_t>(input.size(), decoder.left()));
  body += input.substr(0, count);
  source.keep(input.substr(count));
  decoder.pass(count);
  return true;
}

enum class Way { Decoded, Past };

std::string read_chunks(Source& source, size_t room, Way way) {
  ChunkedDecoder decoder(kMostHead, Padding::Taken);
  std::string body, out(way == Way::Past ? 0 : room, '\0');
  while (!decoder.done()) {
    std::string_view input = source.unread();
    auto count = decoder.feed(input, out);
    source.keep(input);
    if (!count) return "refused";  // what came before may have been put out already, or not
    require(*count <= out.size());
    body.append(out, 0, *count);
    if (*count > 0 || decoder.done() || (way == Way::Past && pass_data(source, decoder, body))) continue;
    if (!source.more()) return body + "broken off";
  }
  return body + "whole";
}

std::string read(std::string_view text, size_t step, size_t room, Way way) {
  Source source(text, step);
  HeadReader reader(kMostHead);
  if (!read_head(source, reader)) return "no head";
  auto head = parse_response_head(reader);
  if (!head) return head.error().reason;
  require(head->status >= 100 && head->status <= 999);
  auto framing = framing_of(*head, "GET");
  if (!framing) return framing.error().reason;
  std::string text_of_head = describe(*head, *framing);
  return framing->chunked() ? text_of_head + read_chunks(source, room, way) : text_of_head;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string whole = read(input, size + 1, 4096, Way::Decoded);
  require(whole == read(input, 1, 3, Way::Decoded));
  require(whole == read(input, 7, 4096, Way::Decoded));
  require(whole == read(input, 5, 0, Way::Past));
  return 0;
}
