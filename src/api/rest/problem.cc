#include "api/rest/problem.h"

#include <cerrno>

#include "base/json.h"
#include "http1/status.h"

namespace cove::api {
namespace {

int status_of(Code code) {
  switch (code) {
    case Code::Invalid:
      return 400;
    case Code::NotFound:
      return 404;
    case Code::Exists:
    case Code::Conflict:
      return 409;
    case Code::Denied:
      return 403;
    case Code::Unsupported:
      return 422;
    case Code::Exhausted:
      return 429;
    case Code::Unavailable:
      return 503;
    case Code::Internal:
      return 500;
  }
  return 500;
}

}  // namespace

Problem::Problem(const Error& error)
    : status(status_of(error.code())),
      code(code_name(error.code())),
      detail(error.message()),
      hint(error.hint()),
      pointer(error.pointer()) {}

Problem&& Problem::advise(std::string advice) && {
  hint = std::move(advice);
  return std::move(*this);
}

Problem&& Problem::header(std::string name, std::string value) && {
  headers.emplace_back(std::move(name), std::move(value));
  return std::move(*this);
}

std::unexpected<Problem> invalid(std::string detail) { return refuse(400, "invalid", std::move(detail)); }

std::unexpected<Problem> denied(std::string detail) { return refuse(403, "denied", std::move(detail)); }

Problem file_problem(Error error) {
  switch (error.errnum()) {
    case EISDIR:
    case EINVAL:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
    case EXDEV:
      return Problem(std::move(error).as(Code::Invalid));
    case ENOTEMPTY:
    case EBUSY:
    case ETXTBSY:
      return Problem(std::move(error).as(Code::Conflict));
    case ENOSPC:
    case EDQUOT:
      return Problem(507, "disk_full", "the sandbox's disk is full")
          .advise("remove files in it, or create one with a larger disk limit");
    case EFBIG:
      return Problem(413, "too_large", error.message()).advise("the sandbox has a limit for the size of a file");
    default:
      return Problem(error);
  }
}

Problem body_problem(const Error& error) {
  if (error.code() == Code::Exhausted) return Problem(413, "too_large", error.message());
  if (error.code() == Code::Unavailable) return Problem(408, "timeout", error.message());
  return Problem(error);
}

std::string to_json(const Problem& problem, std::string_view request_id, std::string_view type) {
  Json json = {{"type", type},
               {"title", http1::reason_phrase(problem.status)},
               {"status", problem.status},
               {"detail", problem.detail},
               {"code", problem.code}};
  if (!problem.pointer.empty()) json["pointer"] = problem.pointer;
  if (!problem.hint.empty()) json["hint"] = problem.hint;
  if (!request_id.empty()) json["request_id"] = request_id;
  return json.dump();
}

std::string_view code_of_status(int status) {
  switch (status) {
    case 401:
      return "unauthorized";
    case 403:
      return "denied";
    case 404:
      return "not_found";
    case 405:
      return "method_not_allowed";
    case 406:
      return "not_acceptable";
    case 408:
      return "timeout";
    case 412:
    case 416:
      return "precondition";
    case 413:
    case 414:
    case 431:
      return "too_large";
    case 422:
    case 501:
    case 505:
      return "unsupported";
    case 503:
      return "unavailable";
    default:
      return status < 500 ? "invalid" : "internal";
  }
}

void answer(http::Exchange& exchange, const Problem& problem) {
  http::Headers headers = problem.headers;
  headers.emplace_back("Content-Type", "application/problem+json");
  // Where it cannot be told, nobody is there to hear it.
  (void)exchange.respond(problem.status, headers, to_json(problem, exchange.request().id));
}

}  // namespace cove::api
