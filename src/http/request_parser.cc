#include "http/request_parser.h"

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // a false one, in Boost's optional
#endif
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstring>

#include "http/request_head.h"

// The one file that includes Beast: it compiles slowly.
namespace cove::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;
using HttpError = beast::http::error;

// An empty chunked body. Beast 1.81 aborts (an assertion) where it sees a part of one twice.
constexpr size_t kShortestChunked = sizeof "0\r\n\r\n" - 1;

std::unexpected<Malformed> refuse(int status, std::string reason) {
  return std::unexpected(Malformed{status, std::move(reason)});
}

// Whether the line ends with a version that HTTP could have.
bool names_version(std::string_view line) {
  line = line.substr(0, line.find("\r\n"));
  line.remove_prefix(std::min(line.size(), line.rfind(' ')));
  auto digit = [&](size_t i) { return line[i] >= '0' && line[i] <= '9'; };
  return line.size() == 9 && line.starts_with(" HTTP/") && digit(6) && line[7] == '.' && digit(8);
}

std::unexpected<Malformed> explain(const error_code& problem, std::string_view input) {
  if (problem == HttpError::bad_version && names_version(input))
    return refuse(505, "the version is not HTTP/1.1 or HTTP/1.0");
  return refuse(400, "malformed request: " + problem.message());
}

}  // namespace

// Beast's parser, with our values behind it.
class RequestParser::Grammar final : public beast::http::basic_parser<true> {
 public:
  explicit Grammar(size_t max_header_bytes) : most_(max_header_bytes) {
    header_limit(static_cast<uint32_t>(most_));
    body_limit(boost::none);
    eager(false);
  }

  // Gives Beast what is there. True: it took a step; false: it wants more.
  std::expected<bool, Malformed> step(std::string_view& input) {
    error_code problem;
    size_t used = put(boost::asio::const_buffer(input.data(), input.size()), problem);
    input.remove_prefix(used);
    if (problem == HttpError::need_more) return false;
    if (problem == HttpError::header_limit) return too_long();
    if (problem) return explain(problem, input);
    return true;
  }

  std::expected<bool, Malformed> parse_head(std::string_view& input) {
    while (!is_header_done()) {
      size_t before = input.size();
      auto stepped = step(input);
      head_bytes_ += before - input.size();
      if (!stepped) return stepped;
      if (head_bytes_ + (*stepped ? 0 : input.size()) > most_) return too_long();
      if (!*stepped) return false;
    }
    if (auto completed = complete(head); !completed) return std::unexpected(completed.error());
    return true;
  }

  std::expected<Piece, Malformed> parse_chunked(std::string_view& input, std::span<char> out) {
    out_ = out;
    size_t before = input.size();
    while (!is_done() && !out_.empty() && !input.empty() && (body_begun_ || input.size() >= kShortestChunked)) {
      body_begun_ = true;
      auto stepped = step(input);
      if (!stepped) return std::unexpected(stepped.error());
      if (!*stepped) break;
    }
    size_t bytes = out.size() - out_.size();
    if (input.size() == before && !is_done() && before > most_) return refuse(400, "a chunk's header is too long");
    return Piece{.bytes = bytes, .done = is_done()};
  }

  Head head;

 private:
  std::unexpected<Malformed> too_long() const {
    if (head.request.target.empty()) return refuse(414, "the request's target is too long");
    return refuse(431, "the headers are too long");
  }

  static std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target, int version,
                       error_code&) override {
    head.request.method = view(method);
    head.request.target = view(target);
    head.http11 = version == 11;
  }
  void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value, error_code&) override {
    if (!is_header_done()) head.request.headers.emplace_back(view(name), view(value));  // later ones are trailers
  }
  size_t on_chunk_body_impl(uint64_t, beast::string_view data, error_code&) override {
    size_t count = std::min(data.size(), out_.size());
    std::memcpy(out_.data(), data.data(), count);
    out_ = out_.subspan(count);
    return count;
  }
  size_t on_body_impl(beast::string_view, error_code&) override { return 0; }  // never asked for one of known length
  void on_response_impl(int, beast::string_view, int, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
  void on_chunk_header_impl(uint64_t, beast::string_view, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  size_t most_;
  size_t head_bytes_ = 0;
  bool body_begun_ = false;
  std::span<char> out_;
};

RequestParser::RequestParser(size_t max_header_bytes) : grammar_(std::make_unique<Grammar>(max_header_bytes)) {}
RequestParser::~RequestParser() = default;

std::expected<bool, Malformed> RequestParser::parse_head(std::string_view& input) {
  return grammar_->parse_head(input);
}
Head& RequestParser::head() { return grammar_->head; }
std::expected<RequestParser::Piece, Malformed> RequestParser::parse_chunked(std::string_view& input,
                                                                            std::span<char> out) {
  return grammar_->parse_chunked(input, out);
}

}  // namespace cove::http
