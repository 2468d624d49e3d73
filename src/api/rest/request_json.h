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
// All errors are Invalid and name the field with the objects around it: "limits.memory", and as a JSON pointer.
class Fields {
 public:
  // The JSON must outlive it.
  explicit Fields(const Json& object) : object_(object) {}

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
  // A whole number of milliseconds, or "30s".
  Result<std::optional<std::chrono::milliseconds>> duration(const std::string& name);
  Result<std::optional<std::vector<std::string>>> texts(const std::string& name);
  Result<std::optional<std::map<std::string, std::string>>> text_map(const std::string& name);
  // With nulls, which mean that a key is to go.
  Result<std::optional<std::map<std::string, std::optional<std::string>>>> text_map_patch(const std::string& name);
  Result<std::optional<Fields>> object(const std::string& name);
  // The objects of a list of at most `most`; empty where it is absent.
  Result<std::vector<Fields>> objects(const std::string& name, size_t most);

  // The element of a list; Invalid where it is no object.
  Result<Fields> object_at(const std::string& name, size_t index);
  // What was found out about an element of a list elsewhere.
  template <typename T>
  Result<T> checked_at(const std::string& name, size_t index, Result<T> result) const {
    if (!result) return fail(blame(item_of(name, index), std::move(result).error()));
    return result;
  }

  // What is required and not there: "'path' is missing".
  Error missing(const std::string& name) const;
  Error wrong(const std::string& name, std::string_view what) const;
  // Of one key of an object of strings.
  Error wrong_key(const std::string& name, const std::string& key, std::string_view what) const;
  // What was found out about a field's value elsewhere: its error names the field, too.
  template <typename T>
  Result<T> checked(const std::string& name, Result<T> result) const {
    if (!result) return fail(blame(spot(name), std::move(result).error()));
    return result;
  }

  Result<void> finish() const;

 private:
  // Where something is in the body: "limits.memory" for people, "/limits/memory" for programs.
  struct Spot {
    std::string name;
    std::string pointer;
  };
  Fields(const Json& object, Spot spot) : object_(object), spot_(std::move(spot)) {}
  Spot spot(const std::string& name) const;
  Spot key_of(const std::string& name, const std::string& key) const;
  Spot item_of(const std::string& name, size_t index) const;
  static Error wrong_at(const Spot& spot, std::string_view what);
  static Error blame(const Spot& spot, Error error);
  static Result<std::string> checked_text(const Json& value, const Spot& spot);

  const Json& object_;
  Spot spot_;  // of the object; empty for the whole body
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
