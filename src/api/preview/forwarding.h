#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/preview/headers.h"
#include "base/unique_fd.h"
#include "http/exchange.h"
#include "http1/chunked.h"
#include "http1/response.h"

namespace cove::api {

// One request, passed on to a server in a sandbox, and its answer, passed back as it comes. Each direction waits for
// the slower side: 64 KiB of it are in memory. What comes from inside is untrusted: malformed answers end it.
class Forwarding {
 public:
  Forwarding(http::Exchange& exchange, UniqueFd socket, Passage passage);

  // Returns when all is told, or one of the two is gone. An error: there is no answer yet, and why; Invalid where the
  // request's body is malformed, else of the server inside.
  Result<void> run();

 private:
  enum class Turn { GoOn, Over };

  bool wants_body() const;
  Result<void> take_body();
  void push();
  Result<Turn> pull();
  Result<Turn> take(std::string_view input);
  Result<Turn> take_head(std::string_view& input);
  Result<Turn> begin_answer(std::string_view& input);
  Result<Turn> take_chunks(std::string_view input);
  Result<Turn> end_of_answer();
  Result<Turn> tell(std::string_view data);
  Result<Turn> finish();

  http::Exchange& exchange_;
  UniqueFd socket_;
  Passage passage_;

  std::vector<char> buffer_;
  std::string out_;  // on its way in
  size_t sent_ = 0;
  Sent body_;
  bool body_ended_;
  bool asks_;                   // the client waits to be asked for the body, and the server was not asked yet
  bool takes_no_more_ = false;  // the server inside

  http1::HeadReader reader_;
  size_t interim_ = 0;
  std::optional<http1::ResponseHead> head_;
  http1::Framing framing_;
  uint64_t left_ = 0;
  std::optional<http1::ChunkedDecoder> chunks_;
};

}  // namespace cove::api
