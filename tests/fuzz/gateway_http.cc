// What a program inside and a server outside send through the gateway, whole and in pieces: what goes on must be the
// same, must be read again as exactly one request and one answer, and must have no value of a secret for the program.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "net/gateway/http_exchange.h"

namespace {

using namespace cove::net;
namespace http1 = cove::http1;

constexpr const char* kPlaceholder = "ghp_PLACEHOLDER";
constexpr const char* kValue = "ghp_realVALUE99";

void require(bool held) {
  if (!held) std::abort();
}

struct Input {
  TargetForm form;
  bool readable;
  std::string_view client, server;
};

struct Outcome {
  std::string up, down;
  bool request_done = false, answer_done = false, upgraded = false, refused = false;
};

// Calls `take` with pieces until it takes no more.
template <typename Take>
bool feed(std::string_view bytes, size_t step, const Take& take) {
  std::string waiting;
  while (!bytes.empty()) {
    waiting += bytes.substr(0, step);
    bytes.remove_prefix(std::min(step, bytes.size()));
    std::string_view input = waiting;
    if (!take(input)) return false;
    waiting.erase(0, waiting.size() - input.size());
  }
  return true;
}

Outcome run(const Input& input, size_t step) {
  static const BrokeredSecret kSecret = {"T", kPlaceholder, kValue, {}, {"authorization", "query"}};
  static const auto kForms = std::make_shared<const SecretForms>(std::vector<BrokeredSecret>{kSecret});
  Outcome outcome;
  http1::HeadReader reader(kMostHead);
  std::optional<HttpExchange> exchange;
  auto take_request = [&](std::string_view& bytes) -> bool {
    if (!exchange) {
      auto whole = reader.feed(bytes);
      if (!whole || !*whole) return bool(whole);
      auto request = parse_request(reader, input.form);
      if (!request) return false;
      if (!request->requested) request->host = "a.example.org";
      exchange.emplace(std::move(*request), HttpExchange::Order{kForms, input.readable, false});
      outcome.up = exchange->head({&kSecret});
    }
    return exchange->take_request(bytes, outcome.up).has_value();
  };
  outcome.refused = !feed(input.client, step, take_request) || !exchange;
  if (outcome.refused) return outcome;
  outcome.request_done = exchange->is_request_done();
  auto take_answer = [&](std::string_view& bytes) { return exchange->take_answer(bytes, outcome.down).has_value(); };
  outcome.refused = !feed(input.server, step, take_answer);
  outcome.upgraded = exchange->is_upgraded();
  if (!outcome.refused && !outcome.upgraded)
    outcome.answer_done = exchange->is_answer_done() || exchange->end_answer(outcome.down);
  return outcome;
}

std::string decode(http1::Framing framing, std::string_view& rest) {
  std::string body;
  HttpBody reader(framing, HttpBody::Chunks::Dropped, http1::Padding::Refused, std::nullopt);
  require(reader.feed(rest, body).has_value());
  require(reader.done() || reader.end(body));
  return body;
}

// As a server reads it: one request, and nothing behind it.
std::string reread_request(const std::string& text) {
  std::string_view rest = text;
  http1::HeadReader reader(4 * kMostHead);
  auto whole = reader.feed(rest);
  require(whole && *whole);
  const std::string line = reader.first_line();
  auto request = parse_request(reader, TargetForm::Origin);
  require(request.has_value());
  std::string body = decode(request->framing, rest);
  require(rest.empty());
  return line + "\n" + body;
}

std::string reread_answer(const std::string& text, const std::string& method) {
  std::string_view rest = text;
  for (;;) {
    http1::HeadReader reader(4 * kMostHead);
    auto whole = reader.feed(rest);
    require(whole && *whole);
    auto head = http1::parse_response_head(reader);
    require(head.has_value());
    if (head->status < 200) continue;
    auto framing = http1::framing_of(*head, method);
    require(framing.has_value());
    std::string body = decode(*framing, rest);
    require(rest.empty());
    return body;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t middle = std::min(all.find("\xff\xff"), all.size());
  const Input input = {(all[0] & 1) != 0 ? TargetForm::Absolute : TargetForm::Origin, (all[0] & 2) != 0,
                       all.substr(1, middle - std::min<size_t>(middle, 1)),
                       all.substr(std::min(middle + 2, all.size()))};
  const Outcome whole = run(input, size + 1);
  require(whole.down.find(kValue) == std::string::npos);
  for (size_t step : {1, 7}) {
    const Outcome pieces = run(input, step);
    require(pieces.down.find(kValue) == std::string::npos);
    require(pieces.refused == whole.refused && pieces.request_done == whole.request_done &&
            pieces.answer_done == whole.answer_done && pieces.upgraded == whole.upgraded);
    if (whole.request_done) require(reread_request(pieces.up) == reread_request(whole.up));
    if (!whole.answer_done) continue;
    const std::string method = whole.up.substr(0, whole.up.find(' '));
    require(reread_answer(pieces.down, method) == reread_answer(whole.down, method));
  }
  return 0;
}
