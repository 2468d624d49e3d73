#include "api/rest/request_json.h"

#include <cmath>
#include <set>

#include "base/text.h"

namespace cove::api {
namespace {

constexpr int kMostDeep = 32;
constexpr double kMostBytes = 0x1p62;
constexpr double kMostSeconds = 366.0 * 86400;

Result<uint64_t> parse_size(const Json& value) {
  if (value.is_string()) return parse_bytes(value.as_string());
  if (!value.is_number()) return fail(Code::Invalid, "must be a number of bytes or a text like \"512m\"");
  double number = value.get<double>();
  if (number < 0 || number > kMostBytes || number != std::floor(number))
    return fail(Code::Invalid, "must be a whole number of bytes");
  return value.is_number_float() ? static_cast<uint64_t>(number) : value.get<uint64_t>();
}

Result<std::chrono::milliseconds> parse_time(const Json& value) {
  if (value.is_string()) return parse_duration(value.as_string());
  if (!value.is_number()) return fail(Code::Invalid, "must be a number of seconds or a text like \"30s\"");
  double seconds = value.get<double>();
  if (!(seconds >= 0)) return fail(Code::Invalid, "must not be negative");
  if (seconds > kMostSeconds) return fail(Code::Invalid, "is longer than a year");
  auto milliseconds = static_cast<int64_t>(std::llround(seconds * 1000));
  if (seconds > 0 && milliseconds == 0) return fail(Code::Invalid, "must be at least one millisecond");
  return std::chrono::milliseconds(milliseconds);
}

}  // namespace

Result<Json> parse_object(std::string_view body) {
  if (trim(body).empty()) return Json::object();
  Json json = COVE_TRY_NOTE("the body cannot be read", Json::parse_strict(body, kMostDeep));
  if (!json.is_object()) return fail(Code::Invalid, "the body is not a JSON object");
  return json;
}

std::string Fields::full(const std::string& name) const { return place_.empty() ? name : concat(place_, ".", name); }

Error Fields::missing(const std::string& name) const {
  return Error(Code::Invalid, concat("'", full(name), "' is missing"));
}

Error Fields::wrong(const std::string& name, std::string_view what) const {
  return Error(Code::Invalid, concat("'", full(name), "' ", what));
}

bool Fields::has(const std::string& name) {
  asked_.insert(name);
  return object_.contains(name);
}

bool Fields::is_null(const std::string& name) { return has(name) && object_[name].is_null(); }

const Json* Fields::raw(const std::string& name) { return has(name) && !is_null(name) ? &object_[name] : nullptr; }

Result<std::string> Fields::checked_text(const Json& value, const std::string& name) const {
  if (!value.is_string()) return fail(wrong(name, "must be a text"));
  const std::string& text = value.as_string();
  if (text.find('\0') != std::string::npos) return fail(wrong(name, "must not have NUL characters"));
  return text;
}

Result<std::optional<std::string>> Fields::text(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  return COVE_TRY(checked_text(*value, name));
}

Result<std::optional<std::string>> Fields::data(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) return fail(wrong(name, "must be a text"));
  return value->get<std::string>();
}

Result<std::optional<std::string>> Fields::choice(const std::string& name, const std::vector<std::string>& choices) {
  std::optional<std::string> word = COVE_TRY(text(name));
  if (!word || std::find(choices.begin(), choices.end(), *word) != choices.end()) return word;
  return fail(wrong(name, concat("cannot be '", *word, "'")).hint(concat("it is one of: ", join(choices, ", "))));
}

Result<std::optional<bool>> Fields::flag(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) return fail(wrong(name, "must be true or false"));
  return value->get<bool>();
}

Result<std::optional<int64_t>> Fields::integer(const std::string& name, int64_t lowest, int64_t highest) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_number_integer()) return fail(wrong(name, "must be a whole number"));
  bool beyond = value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  int64_t number = beyond ? 0 : value->get<int64_t>();
  if (beyond || number < lowest || number > highest)
    return fail(wrong(name, concat("must be between ", lowest, " and ", highest)));
  return number;
}

Result<std::optional<double>> Fields::number(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_number()) return fail(wrong(name, "must be a number"));
  auto number = value->get<double>();
  if (!std::isfinite(number) || number < 0) return fail(wrong(name, "must be a number that is not negative"));
  return number;
}

Result<std::optional<uint64_t>> Fields::size(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  return COVE_TRY_NOTE(concat("'", full(name), "'"), parse_size(*value));
}

Result<std::optional<std::chrono::milliseconds>> Fields::duration(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  return COVE_TRY_NOTE(concat("'", full(name), "'"), parse_time(*value));
}

Result<std::optional<std::vector<std::string>>> Fields::texts(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_array()) return fail(wrong(name, "must be a list of texts"));
  std::vector<std::string> texts;
  for (const Json& each : *value) texts.push_back(COVE_TRY(checked_text(each, concat(name, "[", texts.size(), "]"))));
  return texts;
}

Result<std::optional<std::map<std::string, std::string>>> Fields::text_map(const std::string& name) {
  auto patch = COVE_TRY(text_map_patch(name));
  if (!patch) return std::nullopt;
  std::map<std::string, std::string> map;
  for (auto& [key, value] : *patch) {
    if (!value) return fail(wrong(concat(name, ".", key), "must be a text"));
    map.emplace(key, std::move(*value));
  }
  return map;
}

Result<std::optional<std::map<std::string, std::optional<std::string>>>> Fields::text_map_patch(
    const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_object()) return fail(wrong(name, "must be an object of texts"));
  std::map<std::string, std::optional<std::string>> map;
  for (const auto& [key, each] : value->items()) {
    if (key.empty() || key.find('\0') != std::string::npos) return fail(wrong(name, "has a key that cannot be"));
    if (each.is_null())
      map.emplace(key, std::nullopt);
    else
      map.emplace(key, COVE_TRY(checked_text(each, concat(name, ".", key))));
  }
  return map;
}

Result<std::optional<Fields>> Fields::object(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_object()) return fail(wrong(name, "must be an object"));
  return Fields(*value, full(name));
}

Result<void> Fields::finish() const {
  for (const auto& [name, value] : object_.items()) {
    if (asked_.contains(name)) continue;
    std::string near = closest(name, {asked_.begin(), asked_.end()});
    Error error(Code::Invalid, concat("there is no field '", full(name), "'"));
    if (near.empty()) return fail(std::move(error));
    return fail(std::move(error).hint(concat("did you mean '", full(near), "'?")));
  }
  return {};
}

}  // namespace cove::api
