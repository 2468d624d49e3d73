#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace cove {
namespace {

const Json kNull;

[[noreturn]] void mismatch(std::string_view wanted) { throw Json::exception(concat("the JSON value is not ", wanted)); }

// The length of the well-formed UTF-8 character at the front; 0 where there is none.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
  const auto follows = [&](size_t at) { return (byte(at) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool beyond = first == 0xF4 && byte(1) > 0x8F;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

// Removes all but the last of the members with one name, and says the first name that there is twice.
std::optional<std::string> drop_doubles(Json::Object& object) {
  std::vector<const JsonMember*> sorted;
  sorted.reserve(object.size());
  for (const JsonMember& member : object) sorted.push_back(&member);
  std::ranges::stable_sort(sorted, {}, [](const JsonMember* member) -> const std::string& { return member->name; });
  std::vector<bool> doubled(object.size());
  std::optional<std::string> twice;
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1]->name != sorted[i]->name) continue;
    doubled[static_cast<size_t>(sorted[i - 1] - object.data())] = true;
    if (!twice) twice = sorted[i]->name;
  }
  if (!twice) return twice;
  size_t at = 0;
  std::erase_if(object, [&](const JsonMember&) { return doubled[at++]; });
  return twice;
}

// Builds a Json of what the library's parser finds.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(int deepest) : deepest_(deepest) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool key(std::string& value) override {
    open_.back().name = std::move(value);
    return true;
  }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override {
    Open ended = close();
    std::optional<std::string> doubled = drop_doubles(ended.members);
    if (doubled && !twice) twice = std::move(doubled);
    return add(Json(std::move(ended.members)));
  }
  bool end_array() override {
    Open ended = close();
    return add(Json(std::move(ended.elements)));
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  Json result;
  bool too_deep = false;
  std::optional<std::string> twice;

 private:
  struct Open {
    bool is_object = false;
    std::string name;  // of the member that comes next
    Json::Object members;
    Json::Array elements;
  };

  bool open(const Json& empty) {
    too_deep = static_cast<int>(open_.size()) >= deepest_;
    if (too_deep) return false;
    open_.push_back({.is_object = empty.is_object()});
    return true;
  }

  Open close() {
    Open ended = std::move(open_.back());
    open_.pop_back();
    return ended;
  }

  bool add(Json value) {
    if (open_.empty())
      result = std::move(value);
    else if (Open& around = open_.back(); around.is_object)
      around.members.push_back({std::move(around.name), std::move(value)});
    else
      around.elements.push_back(std::move(value));
    return true;
  }

  int deepest_;
  std::vector<Open> open_;
};

Result<Builder> read(std::string_view text, int deepest) {
  Builder builder(deepest);
  const bool whole = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (builder.too_deep) return fail(Code::Invalid, concat("it is nested more than ", deepest, " deep"));
  if (!whole) return fail(Code::Invalid, "it is not valid JSON");
  return builder;
}

}  // namespace

// Writes values as text.
class JsonWriter {
 public:
  enum class Order { AsAdded, Sorted };
  JsonWriter(int indent, Order order) : indent_(indent), order_(order) {}

  void write(const Json& json) {
    switch (json.kind_) {
      case Json::Kind::Null:
        text_ += "null";
        break;
      case Json::Kind::Bool:
        text_ += json.value_.flag ? "true" : "false";
        break;
      case Json::Kind::Signed:
        write_number(json.value_.signed_number);
        break;
      case Json::Kind::Unsigned:
        write_number(json.value_.unsigned_number);
        break;
      case Json::Kind::Float:
        write_real(json.value_.real);
        break;
      case Json::Kind::String:
        write_string(*json.value_.string);
        break;
      case Json::Kind::Array:
        write_array(*json.value_.array);
        break;
      case Json::Kind::Object:
        write_object(*json.value_.object);
        break;
    }
  }
  std::string take() { return std::move(text_); }

 private:
  template <typename T>
  void write_number(T number) {
    char digits[32];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  void write_real(double number) {
    if (!std::isfinite(number)) {
      text_ += "null";
      return;
    }
    const size_t begin = text_.size();
    write_number(number);
    if (text_.find_first_of(".e", begin) == text_.npos) text_ += ".0";
  }

  void write_string(std::string_view string) {
    text_ += '"';
    size_t plain = 0;  // where what can be copied as it is begins
    for (size_t at = 0; at < string.size();) {
      const auto byte = static_cast<unsigned char>(string[at]);
      const bool special = byte < 0x20 || byte == '"' || byte == '\\';
      const size_t length = special ? 0 : character_length(string.substr(at));
      if (length == 0) {
        text_.append(string.substr(plain, at - plain));
        if (special)
          write_escape(byte);
        else
          text_ += "\xEF\xBF\xBD";
        plain = at + 1;
      }
      at += std::max<size_t>(length, 1);
    }
    text_.append(string.substr(plain));
    text_ += '"';
  }

  void write_escape(unsigned char byte) {
    constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
    const size_t known = kEscaped.find(static_cast<char>(byte));
    if (known != kEscaped.npos) {
      text_ += '\\';
      text_ += kLetters[known];
      return;
    }
    constexpr const char* kDigits = "0123456789abcdef";
    text_ += "\\u00";
    text_ += kDigits[byte >> 4];
    text_ += kDigits[byte & 15];
  }

  void new_line() {
    if (indent_ < 0) return;
    text_ += '\n';
    text_.append(static_cast<size_t>(indent_ * depth_), ' ');
  }

  template <typename Elements, typename Write>
  void write_list(char open, char close, const Elements& elements, Write write_one) {
    text_ += open;
    ++depth_;
    bool first = true;
    for (const auto& element : elements) {
      if (!first) text_ += ',';
      first = false;
      new_line();
      write_one(element);
    }
    --depth_;
    if (!first) new_line();
    text_ += close;
  }

  void write_array(const Json::Array& array) {
    write_list('[', ']', array, [this](const Json& element) { write(element); });
  }

  void write_member(const JsonMember& member) {
    write_string(member.name);
    text_ += indent_ < 0 ? ":" : ": ";
    write(member.value);
  }

  void write_object(const Json::Object& object) {
    if (order_ == Order::AsAdded) {
      write_list('{', '}', object, [this](const JsonMember& member) { write_member(member); });
      return;
    }
    std::vector<const JsonMember*> sorted;
    for (const JsonMember& member : object) sorted.push_back(&member);
    std::ranges::sort(sorted, {}, [](const JsonMember* member) -> const std::string& { return member->name; });
    write_list('{', '}', sorted, [this](const JsonMember* member) { write_member(*member); });
  }

  int indent_;
  Order order_;
  int depth_ = 0;
  std::string text_;
};

Json::Json(std::string text) : kind_(Kind::String) { value_.string = new std::string(std::move(text)); }
Json::Json(Array array) : kind_(Kind::Array) { value_.array = new Array(std::move(array)); }
Json::Json(Object object) : kind_(Kind::Object) { value_.object = new Object(std::move(object)); }

Json::Json(const std::vector<std::string>& texts) : Json(Array(texts.begin(), texts.end())) {}

Json::Json(const std::vector<std::pair<std::string, std::string>>& pairs) : Json(Array()) {
  for (const auto& [first, second] : pairs) value_.array->push_back(array({first, second}));
}

Json::Json(const std::map<std::string, std::string>& texts) : Json(Object()) {
  for (const auto& [name, text] : texts) value_.object->push_back({name, text});
}

Json::Json(const std::map<std::string, uint64_t>& numbers) : Json(Object()) {
  for (const auto& [name, number] : numbers) value_.object->push_back({name, number});
}

Json::Json(std::initializer_list<JsonInit> elements) {
  const bool is_object = std::all_of(elements.begin(), elements.end(), [](const JsonInit& element) {
    return element.value.is_array() && element.value.size() == 2 && element.value.begin()->is_string();
  });
  if (!is_object) {
    *this = array(elements);
    return;
  }
  *this = object();
  for (const JsonInit& element : elements) {
    Array& pair = *element.value.value_.array;
    value_.object->push_back({std::move(*pair[0].value_.string), std::move(pair[1])});
  }
}

Json::Json(const Json& other) : kind_(other.kind_), value_(other.value_) {
  if (kind_ == Kind::String) value_.string = new std::string(*other.value_.string);
  if (kind_ == Kind::Array) value_.array = new Array(*other.value_.array);
  if (kind_ == Kind::Object) value_.object = new Object(*other.value_.object);
}

void Json::release() noexcept {
  if (kind_ == Kind::String) delete value_.string;
  if (kind_ == Kind::Array) delete value_.array;
  if (kind_ == Kind::Object) delete value_.object;
}

Json Json::array(std::initializer_list<JsonInit> elements) {
  Array array;
  array.reserve(elements.size());
  for (const JsonInit& element : elements) array.push_back(std::move(element.value));
  return array;
}

Json Json::object() { return Object(); }

Json json_object(std::initializer_list<JsonField> fields) {
  Json::Object object;
  object.reserve(fields.size());
  for (const JsonField& field : fields) object.push_back({std::string(field.name), std::move(field.value)});
  return object;
}

Result<Json> Json::parse(std::string_view text, int deepest) { return std::move(COVE_TRY(read(text, deepest)).result); }

Result<Json> Json::parse_strict(std::string_view text, int deepest) {
  Builder builder = COVE_TRY(read(text, deepest));
  if (builder.twice) return fail(Code::Invalid, concat("it has the field '", *builder.twice, "' twice"));
  return std::move(builder.result);
}

std::string Json::dump(int indent) const {
  JsonWriter writer(indent, JsonWriter::Order::AsAdded);
  writer.write(*this);
  return writer.take();
}

std::string Json::dump_sorted() const {
  JsonWriter writer(-1, JsonWriter::Order::Sorted);
  writer.write(*this);
  return writer.take();
}

bool Json::as_bool() const {
  if (!is_boolean()) mismatch("true or false");
  return value_.flag;
}

int64_t Json::as_int64() const {
  if (kind_ == Kind::Signed) return value_.signed_number;
  if (kind_ == Kind::Unsigned) return static_cast<int64_t>(value_.unsigned_number);
  if (kind_ == Kind::Float) return static_cast<int64_t>(value_.real);
  mismatch("a number");
}

uint64_t Json::as_uint64() const {
  if (kind_ == Kind::Float) return static_cast<uint64_t>(value_.real);
  return static_cast<uint64_t>(as_int64());
}

double Json::as_double() const {
  if (kind_ == Kind::Signed) return static_cast<double>(value_.signed_number);
  if (kind_ == Kind::Unsigned) return static_cast<double>(value_.unsigned_number);
  if (kind_ == Kind::Float) return value_.real;
  mismatch("a number");
}

const std::string& Json::as_string() const {
  if (!is_string()) mismatch("a string");
  return *value_.string;
}

std::vector<std::string> Json::as_strings() const {
  if (!is_array()) mismatch("an array");
  std::vector<std::string> texts;
  for (const Json& element : *value_.array) texts.push_back(element.as_string());
  return texts;
}

std::vector<std::pair<std::string, std::string>> Json::as_string_pairs() const {
  if (!is_array()) mismatch("an array");
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Json& element : *value_.array) {
    if (!element.is_array() || element.size() != 2) mismatch("an array of pairs");
    pairs.emplace_back(element[0].as_string(), element[1].as_string());
  }
  return pairs;
}

std::map<std::string, std::string> Json::as_string_map() const {
  if (!is_object()) mismatch("an object");
  std::map<std::string, std::string> texts;
  for (const JsonMember& member : *value_.object) texts[member.name] = member.value.as_string();
  return texts;
}

size_t Json::size() const { return is_array() ? value_.array->size() : is_object() ? value_.object->size() : 0; }

const Json* Json::begin() const { return is_array() ? value_.array->data() : nullptr; }
const Json* Json::end() const { return is_array() ? value_.array->data() + value_.array->size() : nullptr; }

const Json& Json::element(size_t index) const {
  return is_array() && index < value_.array->size() ? (*value_.array)[index] : kNull;
}

Json& Json::element(size_t index) {
  if (!is_array() || index >= value_.array->size()) mismatch("an array of that length");
  return (*value_.array)[index];
}

Json& Json::back() {
  if (!is_array() || value_.array->empty()) mismatch("an array with elements");
  return value_.array->back();
}

void Json::push_back(Json element) {
  if (is_null()) *this = array();
  if (!is_array()) mismatch("an array");
  value_.array->push_back(std::move(element));
}

const Json::Object& Json::items() const {
  static const Object kNone;
  return is_object() ? *value_.object : kNone;
}

const Json* Json::find(std::string_view name) const {
  if (!is_object()) return nullptr;
  for (const JsonMember& member : *value_.object)
    if (member.name == name) return &member.value;
  return nullptr;
}

Json* Json::find(std::string_view name) { return const_cast<Json*>(std::as_const(*this).find(name)); }

const Json& Json::at(std::string_view name) const {
  const Json* found = find(name);
  if (!found) throw exception(concat("'", name, "' is missing"));
  return *found;
}

const Json& Json::member(std::string_view name) const {
  const Json* found = find(name);
  return found ? *found : kNull;
}

Json::Object& Json::make_object() {
  if (is_null()) *this = object();
  if (!is_object()) mismatch("an object");
  return *value_.object;
}

Json& Json::member(std::string_view name) {
  Object& members = make_object();
  if (Json* found = find(name)) return *found;
  return members.emplace_back(std::string(name), Json()).value;
}

void Json::erase(std::string_view name) {
  if (is_object()) std::erase_if(*value_.object, [&](const JsonMember& member) { return member.name == name; });
}

void Json::update(const Json& object) {
  for (const JsonMember& member : object.items()) (*this)[member.name] = member.value;
}

bool Json::operator==(const Json& other) const {
  if (is_number() && other.is_number()) {
    if (is_number_float() || other.is_number_float()) return as_double() == other.as_double();
    const bool same_sign = (kind_ == Kind::Signed && value_.signed_number < 0) ==
                           (other.kind_ == Kind::Signed && other.value_.signed_number < 0);
    return same_sign && as_uint64() == other.as_uint64();
  }
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::Bool:
      return value_.flag == other.value_.flag;
    case Kind::String:
      return *value_.string == *other.value_.string;
    case Kind::Array:
      return *value_.array == *other.value_.array;
    case Kind::Object:
      return size() == other.size() && std::ranges::all_of(*value_.object, [&](const JsonMember& member) {
               const Json* twin = other.find(member.name);
               return twin && *twin == member.value;
             });
    default:
      return true;
  }
}

}  // namespace cove
