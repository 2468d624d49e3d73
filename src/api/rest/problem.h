#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/exchange.h"

namespace cove::api {

// Why a request was refused or failed, as the caller is told: a document of RFC 9457 with a stable code.
struct Problem {
  int status = 500;
  std::string code;
  std::string detail;
  std::string hint;
  std::string pointer;    // to the field of the body that is at fault; empty where none is
  http::Headers headers;  // of the answer, beside the content type

  Problem(int with_status, std::string with_code, std::string with_detail)
      : status(with_status), code(std::move(with_code)), detail(std::move(with_detail)) {}
  // What an Error means over HTTP. Not explicit: COVE_TRY passes errors of the engine on as problems.
  Problem(const Error& error);

  Problem&& advise(std::string advice) &&;
  Problem&& header(std::string name, std::string value) &&;
};

// What a handler comes to: an answer was given, or a problem is to be told.
template <typename T>
using Checked = std::expected<T, Problem>;
using Outcome = Checked<void>;

inline std::unexpected<Problem> refuse(Problem problem) { return std::unexpected<Problem>(std::move(problem)); }
inline std::unexpected<Problem> refuse(int status, std::string code, std::string detail) {
  return refuse(Problem(status, std::move(code), std::move(detail)));
}
// 400
std::unexpected<Problem> invalid(std::string detail);
// 403
std::unexpected<Problem> denied(std::string detail);

// What an error of a sandbox's file system means: some errno values are the caller's mistakes there.
Problem file_problem(Error error);
template <typename T>
Checked<T> checked_file(Result<T> result) {
  if (!result) return refuse(file_problem(std::move(result).error()));
  if constexpr (std::is_void_v<T>)
    return {};
  else
    return std::move(result).value();
}

// A body that did not come: too long, malformed, or too slow.
Problem body_problem(const Error& error);

// The document itself. `type` is "about:blank", but where the message has a type of its own. `request_id` is that of
// the request it answers; what fails later, like an operation, has none.
std::string to_json(const Problem& problem, std::string_view request_id = "", std::string_view type = "about:blank");

// The code that goes with a status that http/ gives by itself.
std::string_view code_of_status(int status);

void answer(http::Exchange& exchange, const Problem& problem);

}  // namespace cove::api
