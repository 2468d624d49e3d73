#include "client/problem.h"

#include <algorithm>

#include "base/text.h"

namespace cove::client {
namespace {

struct Name {
  std::string_view name;
  Code code;
};

// Names without a code of their own go with the nearest.
constexpr Name kNames[] = {
    {"invalid", Code::Invalid},
    {"not_found", Code::NotFound},
    {"exists", Code::Exists},
    {"conflict", Code::Conflict},
    {"denied", Code::Denied},
    {"unauthorized", Code::Denied},
    {"unsupported", Code::Unsupported},
    {"exhausted", Code::Exhausted},
    {"unavailable", Code::Unavailable},
    {"internal", Code::Internal},
    {"too_large", Code::Invalid},
    {"method_not_allowed", Code::Unsupported},
    {"timeout", Code::Unavailable},
    {"not_acceptable", Code::Unsupported},
    {"precondition", Code::Invalid},
    {"disk_full", Code::Exhausted},
    {"idempotency_mismatch", Code::Conflict},
    {"idempotency_unfinished", Code::Conflict},
};

Code code_of_status(int status) {
  if (status == 401 || status == 403) return Code::Denied;
  if (status == 404) return Code::NotFound;
  if (status == 409) return Code::Conflict;
  if (status == 429) return Code::Exhausted;
  if (status == 501 || status == 422) return Code::Unsupported;
  if (status == 502 || status == 503 || status == 504) return Code::Unavailable;
  return status < 500 ? Code::Invalid : Code::Internal;
}

Code code_of(const std::string& name, int status) {
  auto found = std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& each) { return each.name == name; });
  return found == std::end(kNames) ? code_of_status(status) : found->code;
}

}  // namespace

Error read_problem(const Json& problem, int status) {
  std::string detail = text_of(problem, "detail");
  if (detail.empty()) detail = text_of(problem, "title");
  if (detail.empty()) detail = concat("the server answered with status ", status);
  Error error(code_of(text_of(problem, "code"), status), detail);
  std::string hint = text_of(problem, "hint");
  if (hint.empty() && status == 401) hint = "name a key with COVE_API_KEY; cove key create makes one";
  if (std::string id = text_of(problem, "request_id"); hint.empty() && status == 500 && !id.empty())
    hint = concat("the server's log says more: it is the request ", id);
  return hint.empty() ? std::move(error) : std::move(error).hint(hint);
}

Error read_problem(const ResponseHead& head, std::string_view document) {
  Result<Json> problem = parse_json(document);
  Error error = read_problem(problem.value_or(Json::object()), head.status);
  std::string_view wait = head.header("retry-after");
  if (wait.empty() || !error.hint().empty()) return error;
  return std::move(error).hint(concat("try again in ", wait, " seconds"));
}

}  // namespace cove::client
