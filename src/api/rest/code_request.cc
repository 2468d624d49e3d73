#include "api/rest/code_request.h"

#include "api/rest/exec_request.h"
#include "api/rest/query.h"

namespace cove::api {

bool names_context(const Json& body) {
  return body.is_object() && body.contains("context") && !body["context"].is_null();
}

Checked<CodeRequest> read_code(Call& call, const Json& body) {
  CodeRequest request;
  if (accepts(call.request(), kEventStream)) request.form = RunForm::Stream;
  bool wait = COVE_TRY(flag_parameter(call.request(), "wait"));
  if (request.form != RunForm::Stream && !wait)
    return invalid(
        "code in a context is waited for to its end (?wait=true) or streamed (Accept: text/event-stream): code that "
        "no one waits for is interrupted");
  Fields fields(body);
  engine::CodeOrder& order = request.order;
  order.context = COVE_TRY(required(fields, "context", fields.text("context")));
  order.order.code = COVE_TRY(required(fields, "code", fields.data("code")));
  if (auto language = COVE_TRY(fields.text("language")))
    order.language = COVE_TRY(fields.checked("language", parse_language(call.engine().config().languages, *language)));
  order.order.language = order.language ? order.language->name : engine::kUsualLanguage;
  COVE_TRY(take_exec_limits(fields, order.order));
  COVE_TRY(fields.finish());
  return request;
}

}  // namespace cove::api
