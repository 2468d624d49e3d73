#include "cli/life_options.h"

namespace cove::cli {
namespace {

// Milliseconds, or null for none.
Json duration_body(const std::string& text) {
  if (text == "none") return nullptr;
  return parse_duration(text)->count();
}

}  // namespace

Result<std::optional<std::string>> parse_life(const std::string& text) {
  if (text != "none") COVE_TRY(parse_duration(text));
  return text;
}

Result<std::optional<std::string>> parse_on_expire(const std::string& text) {
  if (text == "stop" || text == "pause" || text == "delete") return text;
  return fail(Error(Code::Invalid, concat("'", text, "' is not an action")).hint("write stop, pause or delete"));
}

Result<std::optional<bool>> parse_flag(const std::string& text) {
  if (text == "yes" || text == "true") return true;
  if (text == "no" || text == "false") return false;
  return fail(Error(Code::Invalid, concat("'", text, "' is not yes or no")).hint("write yes or no"));
}

Json life_body(const LifeOrder& life) {
  Json json = Json::object();
  if (life.idle) json["idle"] = duration_body(*life.idle);
  if (life.max) json["max"] = duration_body(*life.max);
  if (life.on_expire) json["on_expire"] = *life.on_expire;
  if (life.auto_resume) json["auto_resume"] = *life.auto_resume;
  return json;
}

}  // namespace cove::cli
