#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace cove {

template <typename Json>
struct JsonField {
  std::string_view name;
  mutable Json value;  // is moved out of the list
};

// An object of fields with different names. The library's own way to write this, {{"a", 1}, {"b", 2}}, makes an array
// of each field and then an object of the arrays, which takes three times as long.
template <typename Json>
Json json_object(std::initializer_list<JsonField<Json>> fields) {
  Json json = Json::object();
  auto& object = json.template get_ref<typename Json::object_t&>();
  if constexpr (requires { object.reserve(1); }) {
    object.reserve(fields.size());
    for (const JsonField<Json>& field : fields) object.emplace_back(std::string(field.name), std::move(field.value));
  } else {
    for (const JsonField<Json>& field : fields) object.emplace(field.name, std::move(field.value));
  }
  return json;
}

}  // namespace cove
