#include "net/gateway/opening_reader.h"

namespace cove::net {

OpeningReader::State OpeningReader::add(std::string_view bytes, Server server) {
  bytes_ += bytes;
  if (reader_) return read_hello(bytes);
  switch (classify(bytes_, server)) {
    case Opening::Unknown:
      return State::NeedsMore;
    case Opening::Tls:
      reader_ = std::make_unique<HelloReader>(*parser_);
      return read_hello(bytes_);
    case Opening::Http:
      return State::Http;
    case Opening::Http2:
      return State::Http2;
    case Opening::Query:
      return State::Query;
    case Opening::Other:
      break;
  }
  return State::Other;
}

OpeningReader::State OpeningReader::end() const {
  if (reader_) return State::BrokenTls;
  return State::Other;
}

std::string OpeningReader::take_query() {
  std::string query = bytes_.substr(0, kQuerySize);
  bytes_.erase(0, kQuerySize);
  return query;
}

OpeningReader::State OpeningReader::read_hello(std::string_view bytes) {
  auto state = reader_->add(bytes);
  if (state == HelloReader::State::NeedsMore) return State::NeedsMore;
  hello_ = reader_->hello();
  reader_.reset();
  return state == HelloReader::State::Complete ? State::Tls : State::BrokenTls;
}

}  // namespace cove::net
