#include "api/rest/request_json.h"

#include <cmath>
#include <set>

#include "base/text.h"

namespace cove::api {
namespace {

constexpr int kMostDeep = 32;
constexpr double kMostBytes = 0x1p62;
constexpr double kMostMilliseconds = 366.0 * 86400 * 1000;

Result<uint64_t> parse_size(const Json& value) {
  if (value.is_string()) return parse_bytes(value.as_string());
  if (!value.is_number()) return fail(Code::Invalid, "must be a number of bytes or a string like \"512m\"");
  double number = value.get<double>();
  if (number < 0 || number > kMostBytes || number != std::floor(number))
    return fail(Code::Invalid, "must be a whole number of bytes");
  return value.is_number_float() ? static_cast<uint64_t>(number) : value.get<uint64_t>();
}

Result<std::chrono::milliseconds> parse_time(const Json& value) {
  if (value.is_string()) return parse_duration(value.as_string());
  if (!value.is_number()) return fail(Code::Invalid, "must be a number of milliseconds or a string like \"30s\"");
  double number = value.get<double>();
  if (!(number >= 0)) return fail(Code::Invalid, "must not be negative");
  if (number > kMostMilliseconds) return fail(Code::Invalid, "is longer than a year");
  if (number != std::floor(number))
    return fail(Error(Code::Invalid, "must be a whole number of milliseconds").hint("write seconds as \"1.5s\""));
  return std::chrono::milliseconds(static_cast<int64_t>(number));
}

// RFC 6901.
std::string escape(const std::string& name) {
  std::string escaped;
  for (char c : name) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return escaped;
}

}  // namespace

Result<Json> parse_object(std::string_view body) {
  if (trim(body).empty()) return Json::object();
  Json json = COVE_TRY_NOTE("the body cannot be read", Json::parse_strict(body, kMostDeep));
  if (!json.is_object()) return fail(Code::Invalid, "the body is not a JSON object");
  return json;
}

Fields::Spot Fields::spot(const std::string& name) const {
  return {spot_.name.empty() ? name : concat(spot_.name, ".", name), concat(spot_.pointer, "/", escape(name))};
}

Fields::Spot Fields::key_of(const std::string& name, const std::string& key) const {
  Spot map = spot(name);
  return {concat(map.name, ".", key), concat(map.pointer, "/", escape(key))};
}

Fields::Spot Fields::item_of(const std::string& name, size_t index) const {
  Spot list = spot(name);
  return {concat(list.name, "[", index, "]"), concat(list.pointer, "/", index)};
}

Error Fields::wrong_at(const Spot& spot, std::string_view what) {
  return Error(Code::Invalid, concat("'", spot.name, "' ", what)).at(spot.pointer);
}

Error Fields::missing(const std::string& name) const { return wrong(name, "is missing"); }

Error Fields::wrong(const std::string& name, std::string_view what) const { return wrong_at(spot(name), what); }

Error Fields::wrong_key(const std::string& name, const std::string& key, std::string_view what) const {
  return wrong_at(key_of(name, key), what);
}

Error Fields::blame(const Spot& spot, Error error) {
  return std::move(error).note(concat("'", spot.name, "'")).at(spot.pointer);
}

bool Fields::has(const std::string& name) {
  asked_.insert(name);
  return object_.contains(name);
}

bool Fields::is_null(const std::string& name) { return has(name) && object_[name].is_null(); }

const Json* Fields::raw(const std::string& name) { return has(name) && !is_null(name) ? &object_[name] : nullptr; }

Result<std::string> Fields::checked_text(const Json& value, const Spot& spot) {
  if (!value.is_string()) return fail(wrong_at(spot, "must be a string"));
  const std::string& text = value.as_string();
  if (text.find('\0') != std::string::npos) return fail(wrong_at(spot, "must not have NUL characters"));
  return text;
}

Result<std::optional<std::string>> Fields::text(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  return COVE_TRY(checked_text(*value, spot(name)));
}

Result<std::optional<std::string>> Fields::data(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) return fail(wrong(name, "must be a string"));
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
  return COVE_TRY(checked(name, parse_size(*value)));
}

Result<std::optional<std::chrono::milliseconds>> Fields::duration(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  return COVE_TRY(checked(name, parse_time(*value)));
}

Result<std::optional<std::vector<std::string>>> Fields::texts(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_array()) return fail(wrong(name, "must be a list of strings"));
  std::vector<std::string> texts;
  for (const Json& each : *value) texts.push_back(COVE_TRY(checked_text(each, item_of(name, texts.size()))));
  return texts;
}

Result<std::optional<std::map<std::string, std::string>>> Fields::text_map(const std::string& name) {
  auto patch = COVE_TRY(text_map_patch(name));
  if (!patch) return std::nullopt;
  std::map<std::string, std::string> map;
  for (auto& [key, value] : *patch) {
    if (!value) return fail(wrong_key(name, key, "must be a string"));
    map.emplace(key, std::move(*value));
  }
  return map;
}

Result<std::optional<std::map<std::string, std::optional<std::string>>>> Fields::text_map_patch(
    const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_object()) return fail(wrong(name, "must be an object of strings"));
  std::map<std::string, std::optional<std::string>> map;
  for (const auto& [key, each] : value->items()) {
    if (key.empty() || key.find('\0') != std::string::npos) return fail(wrong(name, "has a key that cannot be"));
    if (each.is_null())
      map.emplace(key, std::nullopt);
    else
      map.emplace(key, COVE_TRY(checked_text(each, key_of(name, key))));
  }
  return map;
}

Result<std::optional<Fields>> Fields::object(const std::string& name) {
  const Json* value = raw(name);
  if (!value) return std::nullopt;
  if (!value->is_object()) return fail(wrong(name, "must be an object"));
  return Fields(*value, spot(name));
}

Result<std::vector<Fields>> Fields::objects(const std::string& name, size_t most) {
  std::vector<Fields> objects;
  const Json* value = raw(name);
  if (!value) return objects;
  if (!value->is_array()) return fail(wrong(name, "must be a list"));
  if (value->size() > most) return fail(wrong(name, concat("has more than ", most, " ", name)));
  for (const Json& each : *value) {
    Spot spot = item_of(name, objects.size());
    if (!each.is_object()) return fail(wrong_at(spot, "must be an object"));
    objects.push_back(Fields(each, std::move(spot)));
  }
  return objects;
}

Result<Fields> Fields::object_at(const std::string& name, size_t index) {
  const Json& element = (*raw(name))[index];
  Spot spot = item_of(name, index);
  if (!element.is_object()) return fail(wrong_at(spot, "must be an object"));
  return Fields(element, std::move(spot));
}

Result<void> Fields::finish() const {
  for (const auto& [name, value] : object_.items()) {
    if (asked_.contains(name)) continue;
    std::string near = closest(name, {asked_.begin(), asked_.end()});
    Error error = Error(Code::Invalid, concat("there is no field '", spot(name).name, "'")).at(spot(name).pointer);
    if (near.empty()) return fail(std::move(error));
    return fail(std::move(error).hint(concat("did you mean '", spot(near).name, "'?")));
  }
  return {};
}

}  // namespace cove::api
