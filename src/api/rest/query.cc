#include "api/rest/query.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/ascii.h"
#include "base/encoding.h"
#include "base/text.h"

namespace cove::api {
namespace {

constexpr size_t kLongestPath = 4095;

// "text/html;q=0.5" → "text/html".
std::string_view media_type(std::string_view range) { return trim(range.substr(0, range.find(';'))); }

bool covers(std::string_view range, std::string_view type) {
  if (range == "*/*" || same_word(range, type)) return true;
  return range.ends_with("/*") && same_word(range.substr(0, range.size() - 1), type.substr(0, range.size() - 1));
}

}  // namespace

Result<void> check_query(const http::Request& request, std::span<const std::string_view> known) {
  std::vector<std::string> once, often;
  for (std::string_view name : known) (name.ends_with('*') ? often : once).emplace_back(name.substr(0, name.find('*')));
  std::set<std::string> seen;
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(often, name) != often.end()) continue;
    if (std::ranges::find(once, name) == once.end()) {
      once.insert(once.end(), often.begin(), often.end());
      Error error(Code::Invalid, concat("there is no query parameter '", name, "' here"));
      if (std::string near = closest(name, once); !near.empty())
        return fail(std::move(error).hint(concat("did you mean '", near, "'?")));
      return fail(once.empty() ? std::move(error) : std::move(error).hint(concat("it takes: ", join(once, ", "))));
    }
    if (!seen.insert(name).second)
      return fail(Code::Invalid, concat("the query parameter '", name, "' is given twice"));
  }
  return {};
}

Result<std::optional<int64_t>> time_parameter(const http::Request& request, const std::string& name) {
  auto text = request.parameter(name);
  if (!text) return std::nullopt;
  std::optional<int64_t> time = parse_time(*text);
  if (time) return time;
  return fail(Error(Code::Invalid, concat("'", name, "' is not a point in time: '", *text, "'"))
                  .hint("write it like 2026-01-31T12:00:00Z"));
}

Result<EventFilter> event_filter(const http::Request& request) {
  EventFilter filter;
  for (const auto& [name, value] : request.query) {
    if (name != "type") continue;
    if (value.empty() || value.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.") != value.npos)
      return fail(Error(Code::Invalid, concat("'type': there are no events '", value, "'"))
                      .hint("write it like exec.ended, or exec for all that happens to execs"));
    filter.kinds.push_back(value);
  }
  filter.sandbox_id = text_parameter(request, "sandbox");
  filter.session = text_parameter(request, "session");
  filter.agent = text_parameter(request, "agent");
  filter.since_ms = COVE_TRY(time_parameter(request, "since")).value_or(0);
  filter.until_ms = COVE_TRY(time_parameter(request, "until")).value_or(0);
  return filter;
}

Result<bool> flag_parameter(const http::Request& request, const std::string& name) {
  auto text = request.parameter(name);
  if (!text) return false;
  if (*text == "true" || *text == "1" || text->empty()) return true;
  if (*text == "false" || *text == "0") return false;
  return fail(Code::Invalid, concat("'", name, "' must be true or false"));
}

Result<std::optional<int64_t>> integer_parameter(const http::Request& request, const std::string& name, int64_t lowest,
                                                 int64_t highest) {
  auto text = request.parameter(name);
  if (!text) return std::nullopt;
  return COVE_TRY_NOTE(concat("'", name, "'"), parse_integer(*text, lowest, highest));
}

std::string text_parameter(const http::Request& request, const std::string& name) {
  return std::string(request.parameter(name).value_or(""));
}

Result<size_t> limit_parameter(const http::Request& request, size_t usual, size_t most) {
  auto limit = COVE_TRY(integer_parameter(request, "limit", 1, static_cast<int64_t>(most)));
  return limit ? static_cast<size_t>(*limit) : usual;
}

Result<std::string> check_path(std::string path) {
  if (path.empty()) return fail(Code::Invalid, "must not be empty");
  if (path.size() > kLongestPath) return fail(Code::Invalid, concat("is longer than ", kLongestPath, " bytes"));
  return path;
}

Result<std::string> path_parameter(const http::Request& request) {
  auto path = request.parameter("path");
  if (!path) return fail(Error(Code::Invalid, "'path' is missing").hint("add ?path= to the request"));
  return COVE_TRY_NOTE("'path'", check_path(std::string(*path)));
}

Result<unsigned> parse_mode(const std::string& text) {
  bool octal = text.find_first_not_of("01234567") == std::string::npos;
  if (!octal || text.size() < 3 || text.size() > 4)
    return fail(Error(Code::Invalid, concat("'", text, "' is not a mode")).hint("write it like 0644"));
  return static_cast<unsigned>(std::stoul(text, nullptr, 8));
}

Result<std::optional<unsigned>> mode_parameter(const http::Request& request) {
  auto text = request.parameter("mode");
  if (!text) return std::nullopt;
  return COVE_TRY(parse_mode(std::string(*text)));
}

bool accepts(const http::Request& request, std::string_view type) {
  for (const std::string& range : split(request.header("accept").value_or(""), ','))
    if (same_word(media_type(range), type)) return true;
  return false;
}

bool refuses(const http::Request& request, std::string_view type) {
  auto accept = request.header("accept");
  if (!accept || trim(*accept).empty()) return false;
  for (const std::string& range : split(*accept, ','))
    if (covers(media_type(range), type)) return false;
  return true;
}

}  // namespace cove::api
