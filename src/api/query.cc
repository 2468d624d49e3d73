#include "api/query.h"

#include "base/text.h"
#include "http/ascii.h"

namespace cove::api {
namespace {

constexpr int64_t kMostListed = 1000;
constexpr size_t kListed = 100;
constexpr size_t kLongestPath = 4095;

// "text/html;q=0.5" → "text/html".
std::string_view media_type(std::string_view range) { return trim(range.substr(0, range.find(';'))); }

bool covers(std::string_view range, std::string_view type) {
  if (range == "*/*" || http::same_word(range, type)) return true;
  return range.ends_with("/*") && http::same_word(range.substr(0, range.size() - 1), type.substr(0, range.size() - 1));
}

}  // namespace

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

Result<size_t> limit_parameter(const http::Request& request) {
  auto limit = COVE_TRY(integer_parameter(request, "limit", 1, kMostListed));
  return limit ? static_cast<size_t>(*limit) : kListed;
}

Result<std::string> check_path(std::string path, const std::string& name) {
  if (path.empty()) return fail(Code::Invalid, concat("'", name, "' must not be empty"));
  if (path.size() > kLongestPath)
    return fail(Code::Invalid, concat("'", name, "' is longer than ", kLongestPath, " bytes"));
  return path;
}

Result<std::string> path_parameter(const http::Request& request) {
  auto path = request.parameter("path");
  if (!path) return fail(Error(Code::Invalid, "'path' is missing").hint("add ?path= to the request"));
  return check_path(std::string(*path), "path");
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
    if (http::same_word(media_type(range), type)) return true;
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
