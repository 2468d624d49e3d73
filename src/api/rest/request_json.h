#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cove::api {

// What a request's body says, bounded in depth. Invalid where it is no JSON, or not an object. Nothing at all is {}.
Result<Json> parse_object(std::string_view body);

// The fields of one JSON object of a request. Each is asked for by name and comes checked; a null counts as absent.
// What nobody has asked for is a mistake of the caller's: `finish` tells of it, with the nearest name that was asked
// for.
//
//   Fields fields(json);
//   auto memory = COVE_TRY(fields.size("memory"));
//   COVE_TRY(fields.finish());
//
// All errors are Invalid and name the field with the objects around it: "limits.memory".
class Fields {
 public:
  // The JSON must outlive it.
  explicit Fields(const Json& object, std::string place = "") : object_(object), place_(std::move(place)) {}

  // Whether it is there, be it null.
  bool has(const std::string& name);
  bool is_null(const std::string& name);
  const Json* raw(const std::string& name);  // nullptr where it is absent or null

  // Text without NUL.
  Result<std::optional<std::string>> text(const std::string& name);
  // Any text.
  Result<std::optional<std::string>> data(const std::string& name);
  // Text that is one of those.
  Result<std::optional<std::string>> choice(const std::string& name, const std::vector<std::string>& choices);
  Result<std::optional<bool>> flag(const std::string& name);
  Result<std::optional<int64_t>> integer(const std::string& name, int64_t lowest, int64_t highest);
  // A finite number, at least 0.
  Result<std::optional<double>> number(const std::string& name);
  // A number of bytes, or "512m".
  Result<std::optional<uint64_t>> size(const std::string& name);
  // A number of seconds, or "30s".
  Result<std::optional<std::chrono::milliseconds>> duration(const std::string& name);
  Result<std::optional<std::vector<std::string>>> texts(const std::string& name);
  Result<std::optional<std::map<std::string, std::string>>> text_map(const std::string& name);
  // With nulls, which mean that a key is to go.
  Result<std::optional<std::map<std::string, std::optional<std::string>>>> text_map_patch(const std::string& name);
  Result<std::optional<Fields>> object(const std::string& name);

  // What is required and not there: "'path' is missing".
  Error missing(const std::string& name) const;
  Error wrong(const std::string& name, std::string_view what) const;

  Result<void> finish() const;

 private:
  std::string full(const std::string& name) const;
  Result<std::string> checked_text(const Json& value, const std::string& name) const;

  const Json& object_;
  std::string place_;
  std::set<std::string> asked_;
};

// The value of a field that must be there.
template <typename T>
Result<T> required(const Fields& fields, const std::string& name, Result<std::optional<T>> value) {
  if (!value) return std::unexpected(std::move(value).error());
  if (!*value) return std::unexpected(fields.missing(name));
  return std::move(**value);
}

}  // namespace cove::api
