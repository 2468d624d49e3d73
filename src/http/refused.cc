#include "http/refused.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/id.h"
#include "base/text.h"
#include "http/answer_head.h"

namespace cove::http {
namespace {

constexpr size_t kMostWaiting = 64;
constexpr milliseconds kWait{500};

std::string answer() {
  const std::string id = make_id();
  std::string body = concat(R"({"type":"about:blank","title":"Service Unavailable","status":503,)"
                            R"("detail":"the server has as many connections as it takes","code":"unavailable",)"
                            R"("request_id":")",
                            id, "\"}");
  AnswerHead head(503);
  head.add("Date", http_date()).add("Retry-After", "1").add("Content-Type", "application/problem+json");
  head.add("X-Request-Id", id);
  head.add("Content-Length", concat(body.size())).add("Connection", "close");
  return head.take() + body;
}

// What has come by now, so that closing does not reset the connection.
void read_away(int socket) {
  char unwanted[4096];
  for (int i = 0; i < 16 && ::recv(socket, unwanted, sizeof unwanted, MSG_DONTWAIT) > 0; ++i) {
  }
}

}  // namespace

void Refused::add(UniqueFd socket, Answer wanted) {
  if (wanted == Answer::No) return;
  if (waiting_.size() >= kMostWaiting) close_first();
  std::string text = answer();
  ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(socket.get(), SHUT_WR);
  waiting_.push_back({std::move(socket), Clock::now() + kWait});
}

void Refused::close_first() {
  read_away(waiting_.front().socket.get());
  waiting_.pop_front();
}

void Refused::close_old() {
  while (!waiting_.empty() && waiting_.front().until <= Clock::now()) close_first();
}

int Refused::milliseconds_to_next() const {
  if (waiting_.empty()) return -1;
  auto left = std::chrono::ceil<milliseconds>(waiting_.front().until - Clock::now());
  return static_cast<int>(std::max<milliseconds::rep>(left.count(), 0));
}

}  // namespace cove::http
