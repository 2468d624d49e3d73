#include "client/json.h"

#include "base/encoding.h"
#include "base/text.h"

namespace cove::client {

Result<Json> parse_json(std::string_view text) {
  Result<Json> json = Json::parse(text);
  if (!json) return fail(Code::Internal, concat("the server's answer is not JSON: ", text.substr(0, 200)));
  return json;
}

std::string dump(const Json& json) { return json.dump(); }
std::string dump_indented(const Json& json) { return json.dump(2); }

const Json& field(const Json& json, std::string_view name) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  auto found = json.find(std::string(name));
  return !found ? kNull : *found;
}

std::string text_of(const Json& json, std::string_view name) {
  const Json& value = field(json, name);
  return value.is_string() ? value.get<std::string>() : "";
}

double number_of(const Json& json, std::string_view name) {
  const Json& value = field(json, name);
  return value.is_number() ? value.get<double>() : 0;
}

uint64_t count_of(const Json& json, std::string_view name) {
  const Json& value = field(json, name);
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  double number = number_of(json, name);
  return number > 0 && number < 0x1p63 ? static_cast<uint64_t>(number) : 0;
}

bool flag_of(const Json& json, std::string_view name) {
  const Json& value = field(json, name);
  return value.is_boolean() && value.get<bool>();
}

Result<std::string> bytes_of(const Json& json) {
  if (!field(json, "base64").is_string()) return text_of(json, "text");
  std::optional<std::string> bytes = from_base64(text_of(json, "base64"));
  if (!bytes) return fail(Code::Internal, "the server has sent what is not base64");
  return std::move(*bytes);
}

}  // namespace cove::client
