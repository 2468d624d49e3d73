#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cove {

struct JsonMember;
struct JsonInit;

// A JSON value. Objects keep the order in which their members were added. Everything that costs the compiler time is in
// json.cc, and so is the library that parses: this header is cheap to include.
//
//   Json json = json_object({{"id", id}, {"labels", labels}});
//   json["count"] = 3;
//   std::string text = json.dump();
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<JsonMember>;

  // A value of another type than was asked for, or a member that is missing.
  struct exception : std::exception {
    explicit exception(std::string text) : text_(std::move(text)) {}
    const char* what() const noexcept override { return text_.c_str(); }

   private:
    std::string text_;
  };

  Json() noexcept {}
  Json(std::nullptr_t) noexcept {}
  Json(std::same_as<bool> auto value) noexcept : kind_(Kind::Bool) { value_.flag = value; }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) noexcept {
    if constexpr (std::is_signed_v<T>)
      set_signed(static_cast<int64_t>(value));
    else
      kind_ = Kind::Unsigned, value_.unsigned_number = static_cast<uint64_t>(value);
  }
  Json(std::floating_point auto value) noexcept : kind_(Kind::Float) { value_.real = static_cast<double>(value); }
  Json(const char* text) : Json(std::string(text)) {}
  Json(std::string_view text) : Json(std::string(text)) {}
  Json(std::string text);
  Json(Array array);
  Json(Object object);
  Json(const std::vector<std::string>& texts);
  Json(const std::vector<std::pair<std::string, std::string>>& pairs);  // an array of arrays of two
  Json(const std::map<std::string, std::string>& texts);
  Json(const std::map<std::string, uint64_t>& numbers);
  template <size_t N>
  Json(const char* const (&texts)[N]) : Json(std::vector<std::string>(texts, texts + N)) {}
  // As in {{"a", 1}, {"b", 2}}: an object where every element is a pair that begins with a string, else an array.
  Json(std::initializer_list<JsonInit> elements);
  template <typename T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}

  Json(const Json& other);
  Json(Json&& other) noexcept : kind_(other.kind_), value_(other.value_) { other.kind_ = Kind::Null; }
  Json& operator=(Json other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~Json() {
    if (kind_ >= Kind::String) release();
  }

  static Json array() { return Json(Array()); }
  static Json array(std::initializer_list<JsonInit> elements);
  static Json object();

  // What a text says. Invalid where it is not JSON, or nested too deep. Of members with one name the last one counts.
  static constexpr int kDeepest = 512;
  static Result<Json> parse(std::string_view text, int deepest = kDeepest);
  // The same, and also Invalid where an object has two members with one name.
  static Result<Json> parse_strict(std::string_view text, int deepest = kDeepest);

  // Bytes that are not UTF-8 are written as U+FFFD. `indent` is a number of spaces; less than zero: one line.
  std::string dump(int indent = -1) const;
  // One line, with the members of objects sorted by name.
  std::string dump_sorted() const;

  bool is_null() const { return kind_ == Kind::Null; }
  bool is_boolean() const { return kind_ == Kind::Bool; }
  bool is_string() const { return kind_ == Kind::String; }
  bool is_array() const { return kind_ == Kind::Array; }
  bool is_object() const { return kind_ == Kind::Object; }
  bool is_number_float() const { return kind_ == Kind::Float; }
  bool is_number_unsigned() const {
    return kind_ == Kind::Unsigned;
  }  // of parsed numbers: any that is whole and not negative
  bool is_number_integer() const { return kind_ == Kind::Signed || kind_ == Kind::Unsigned; }
  bool is_number() const { return is_number_integer() || is_number_float(); }

  // Throw `exception` where the value is of another type. Numbers are converted to each other.
  bool as_bool() const;
  int64_t as_int64() const;
  uint64_t as_uint64() const;
  double as_double() const;
  const std::string& as_string() const;
  std::vector<std::string> as_strings() const;
  std::vector<std::pair<std::string, std::string>> as_string_pairs() const;
  std::map<std::string, std::string> as_string_map() const;
  template <typename T>
  T get() const {
    if constexpr (std::same_as<T, Json>)
      return *this;
    else if constexpr (std::same_as<T, bool>)
      return as_bool();
    else if constexpr (std::floating_point<T>)
      return static_cast<T>(as_double());
    else if constexpr (std::unsigned_integral<T>)
      return static_cast<T>(as_uint64());
    else if constexpr (std::integral<T>)
      return static_cast<T>(as_int64());
    else if constexpr (std::same_as<T, std::string>)
      return as_string();
    else if constexpr (std::same_as<T, std::vector<std::string>>)
      return as_strings();
    else if constexpr (std::same_as<T, std::vector<std::pair<std::string, std::string>>>)
      return as_string_pairs();
    else {
      static_assert(std::same_as<T, std::map<std::string, std::string>>, "not a type that JSON is read as");
      return as_string_map();
    }
  }
  template <typename T>
  void get_to(T& value) const {
    value = get<T>();
  }

  // Of arrays and objects; 0 of others.
  size_t size() const;
  bool empty() const { return size() == 0; }

  // Elements of an array; none of others.
  const Json* begin() const;
  const Json* end() const;
  Json* begin() { return const_cast<Json*>(std::as_const(*this).begin()); }
  Json* end() { return const_cast<Json*>(std::as_const(*this).end()); }
  const Json& operator[](std::integral auto index) const {  // null where there is none
    return element(static_cast<size_t>(index));
  }
  Json& operator[](std::integral auto index) {
    return element(static_cast<size_t>(index));
  }  // throws where there is none
  Json& back();
  void push_back(Json element);  // a null becomes an array first

  // Members of an object; none of others.
  const Object& items() const;
  const Json* find(std::string_view name) const;  // nullptr where there is none
  Json* find(std::string_view name);
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const Json& at(std::string_view name) const;  // throws where there is none
  template <size_t N>
  const Json& operator[](const char (&name)[N]) const {
    return member(name);
  }
  template <size_t N>
  Json& operator[](const char (&name)[N]) {
    return member(name);
  }
  const Json& operator[](std::string_view name) const { return member(name); }  // null where there is none
  Json& operator[](std::string_view name) { return member(name); }              // added where there is none
  const Json& operator[](const std::string& name) const { return member(name); }
  Json& operator[](const std::string& name) { return member(name); }
  const Json& operator[](const char* name) const { return member(name); }
  Json& operator[](const char* name) { return member(name); }
  void erase(std::string_view name);
  void update(const Json& object);  // takes over its members

  // The member, or `otherwise` where there is none; throws where it is of another type.
  template <typename T>
  T value(std::string_view name, T otherwise) const {
    const Json* found = find(name);
    return found ? found->get<T>() : otherwise;
  }
  std::string value(std::string_view name, const char* otherwise) const {
    const Json* found = find(name);
    return found ? found->as_string() : otherwise;
  }

  // The order of members does not matter; numbers are compared by value.
  bool operator==(const Json& other) const;

 private:
  enum class Kind : uint8_t { Null, Bool, Signed, Unsigned, Float, String, Array, Object };
  union Value {
    bool flag;
    int64_t signed_number;
    uint64_t unsigned_number = 0;
    double real;
    std::string* string;
    Array* array;
    Object* object;
  };
  friend class JsonWriter;

  void set_signed(int64_t value) noexcept {
    kind_ = Kind::Signed;
    value_.signed_number = value;
  }
  void release() noexcept;
  const Json& element(size_t index) const;
  Json& element(size_t index);
  const Json& member(std::string_view name) const;
  Json& member(std::string_view name);
  Object& make_object();

  Kind kind_ = Kind::Null;
  Value value_;
};

struct JsonMember {
  std::string name;
  Json value;
};

// An element of a braced list; its value is moved out of the list.
struct JsonInit {
  mutable Json value;

  template <typename T>
    requires std::constructible_from<Json, T>
  JsonInit(T&& from) : value(std::forward<T>(from)) {}
  JsonInit(std::initializer_list<JsonInit> elements) : value(elements) {}
};

struct JsonField {
  std::string_view name;
  mutable Json value;  // is moved out of the list
};

// An object of fields with different names; cheaper than a braced list of pairs.
Json json_object(std::initializer_list<JsonField> fields);

}  // namespace cove
