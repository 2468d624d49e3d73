#pragma once

#include <string>

#include "base/json.h"
#include "engine/exec/exec.h"
#include "engine/sandbox_info.h"
#include "engine/session/session_info.h"
#include "model/limit_fields.h"
#include "runtime/runtime.h"
#include "secret/secrets.h"
#include "store/records.h"

// What the engine has, as the API gives it.
namespace cove::api {

// On one line; bytes that are no UTF-8 become U+FFFD.
std::string dump(const Json& document);
// The same with one more field at the end, which is JSON already.
std::string dump_with(const Json& document, std::string_view name, std::string_view json);

Json time_json(int64_t milliseconds);        // a text; null for 0
Json text_or_null(const std::string& text);  // null where it is empty

Json network_json(const NetworkPolicy& policy);
Json sandbox_json(const engine::SandboxInfo& sandbox);
Json session_json(const engine::SessionInfo& session);
// The name of a limit in answers: with its unit.
std::string answer_name(const LimitField& field);
Json stats_json(const Stats& stats, const Limits& limits, int64_t now_ms);
std::string result_json(const ExecResult& result);
std::string exec_json(const engine::ExecInfo& exec);
Json event_json(const EventRecord& event);
Json key_json(const KeyRecord& key);
Json secret_json(const SecretInfo& secret);

// {"text": …} where it is UTF-8, else {"base64": …}; in front of it whatever is in `document`.
void add_data(Json& document, const std::string& data);
const char* stream_name(engine::Stream stream);  // "stdout"

// {"items": […], "next": …} of texts that are JSON already.
std::string page_json(const std::vector<std::string>& items, const std::string& next);

}  // namespace cove::api
