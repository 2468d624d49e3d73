// What a running exec can be sent: input, signals, a new size of its terminal.
#include "api/rest/call.h"
#include "api/rest/exec_request.h"
#include "api/rest/query.h"
#include "base/ascii.h"
#include "base/text.h"

namespace cove::api {
namespace {

constexpr std::chrono::milliseconds kLook{250};  // between looks at whether the caller is there
constexpr size_t kPiece = 64 * kKiB;

Checked<std::shared_ptr<engine::Exec>> find(Call& call) {
  return COVE_TRY(call.engine().find_exec(call.caller, call.sandbox(), call.captured("exec"), Scope::Run));
}

bool is_json(const http::Request& request) {
  std::string_view type = request.header("content-type").value_or("");
  return same_word(trim(type.substr(0, type.find(';'))), "application/json");
}

// Gives a program its input for as long as the caller is there, however slowly it reads.
class Feeder {
 public:
  Feeder(http::Exchange& exchange, engine::Exec& exec) : exchange_(exchange), exec_(exec) {}

  Outcome give(std::string_view data) {
    while (!data.empty()) {
      Result<size_t> taken = exec_.offer_input(data, kLook);
      if (!taken) return refuse(explain(taken.error()));
      data.remove_prefix(*taken);
      taken_ += *taken;
      if (!data.empty()) COVE_TRY(check_caller());
    }
    return {};
  }

  // The body as it comes, of any length.
  Outcome give_body() {
    std::vector<char> piece(kPiece);
    while (true) {
      Result<size_t> count = exchange_.read(piece);
      if (!count) return refuse(body_problem(count.error()));
      if (*count == 0) return {};
      COVE_TRY(give({piece.data(), *count}));
    }
  }

 private:
  Problem explain(const Error& error) const {
    Problem problem(error);
    problem.detail += concat(" (it took ", taken_, " bytes of these)");
    return problem;
  }

  Outcome check_caller() {
    http::Exchange::Wake wake = exchange_.wait(-1, std::chrono::milliseconds(0));
    if (wake == http::Exchange::Wake::Gone) return refuse(503, "unavailable", "the caller has gone");
    if (wake == http::Exchange::Wake::Stopping)
      return refuse(explain(Error(Code::Unavailable, "the server stops before the program has read its input")));
    return {};
  }

  http::Exchange& exchange_;
  engine::Exec& exec_;
  uint64_t taken_ = 0;
};

Outcome write_stdin(Call& call) {
  bool close = COVE_TRY(flag_parameter(call.request(), "close"));
  auto exec = COVE_TRY(find(call));
  Feeder feeder(call.exchange, *exec);
  if (is_json(call.request())) {
    Json body = COVE_TRY(call.body());
    Fields fields(body);
    std::string data = COVE_TRY(take_bytes(fields)).value_or("");
    close = COVE_TRY(fields.flag("close")).value_or(close);
    COVE_TRY(fields.finish());
    COVE_TRY(feeder.give(data));
  } else {
    COVE_TRY(feeder.give_body());
  }
  if (close) COVE_TRY(exec->close_input());
  return call.no_content();
}

Outcome signal_exec(Call& call) {
  auto exec = COVE_TRY(find(call));
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  SignalRequest request = COVE_TRY(take_signal(fields));
  COVE_TRY(fields.finish());
  COVE_TRY(exec->signal(request.number, request.group));
  return call.no_content();
}

Outcome resize_exec(Call& call) {
  auto exec = COVE_TRY(find(call));
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  WindowSize size = COVE_TRY(take_window(fields));
  COVE_TRY(fields.finish());
  COVE_TRY(exec->resize(size));
  return call.no_content();
}

}  // namespace

void add_exec_input(Routes& routes) {
  routes.add("POST", "/v1/sandboxes/{id}/execs/{exec}/stdin", kTokenRun, write_stdin, {"close"});
  routes.add("POST", "/v1/sandboxes/{id}/execs/{exec}/signal", kTokenRun, signal_exec);
  routes.add("POST", "/v1/sandboxes/{id}/execs/{exec}/resize", kTokenRun, resize_exec);
}

}  // namespace cove::api
