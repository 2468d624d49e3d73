#pragma once

#include <optional>

#include "api/rest/request_json.h"
#include "engine/sandbox_info.h"

namespace cove::api {

struct ExecRequest {
  engine::ExecOrder order;
  std::optional<engine::OnDisconnect> on_disconnect;
};

// What becomes of the input where the request does not say.
enum class SilentInput { Closed, Open };

// Parts of such a request. One of argv, shell, code and file, the last two in a language of the table:
Result<void> take_command(Fields& fields, const LanguageTable& languages, engine::ExecOrder& order);
Result<void> take_stdin(Fields& fields, engine::ExecOrder& order, SilentInput silent);
// {"rows": …, "cols": …}, in place of pipes.
Result<void> take_pty(Fields& fields, ExecSpec& spec);
// Variables and the working folder.
Result<void> take_surroundings(Fields& fields, ExecSpec& spec);
// `limits` for an exec alone, and `timeout`.
Result<void> take_exec_limits(Fields& fields, engine::ExecOrder& order);

// The body of a request for an exec. All errors are Invalid, but Unsupported for limits that one exec cannot have.
Result<ExecRequest> parse_exec(const Json& body, const LanguageTable& languages, SilentInput silent);

// {"text": …} or {"base64": …}, one of them; nothing where neither is there.
Result<std::optional<std::string>> take_bytes(Fields& fields);

// {"rows": …, "cols": …}
Result<WindowSize> take_window(Fields& fields);

// {"signal": "TERM" | 15, "group": …}
struct SignalRequest {
  int number = 0;
  bool group = false;
};
Result<SignalRequest> take_signal(Fields& fields);

}  // namespace cove::api
