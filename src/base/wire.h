#pragma once

#include <string.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// How values travel between Cove's processes: numbers of 8 bytes in the machine's order, strings behind their length.
// What is read is untrusted: a Reader never reads past its end and never trusts a length.
namespace cove::wire {

inline constexpr size_t kMaxMessage = 60 * 1024;  // of one message; what is larger travels in a memfd
inline constexpr size_t kMaxList = 1 << 20;

class Writer {
 public:
  Writer() = default;
  // A message of that type.
  template <typename Type>
    requires std::is_enum_v<Type>
  explicit Writer(Type type) {
    number(static_cast<uint32_t>(type));
  }
  Writer& number(uint64_t value) {
    data_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(std::string_view value) {
    number(value.size());
    data_.append(value);
    return *this;
  }
  template <typename List>
  Writer& texts(const List& values) {
    number(values.size());
    for (const auto& value : values) text(value);
    return *this;
  }
  const std::string& data() const { return data_; }
  // For what must leave no copies in memory: room in advance, so that it is written once, and its end.
  void reserve(size_t size) { data_.reserve(size); }
  void wipe() {
    ::explicit_bzero(data_.data(), data_.size());
    data_.clear();
  }

 private:
  std::string data_;
};

class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}
  uint64_t number() {
    uint64_t value = 0;
    if (data_.size() < sizeof value) return broken();
    std::memcpy(&value, data_.data(), sizeof value);
    data_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    uint64_t size = number();
    if (size > data_.size()) return broken(), std::string();
    std::string value(data_.substr(0, size));
    data_.remove_prefix(size);
    return value;
  }
  std::vector<std::string> texts() {
    uint64_t count = number();
    std::vector<std::string> values;
    if (count > kMaxList || count * sizeof(uint64_t) > data_.size()) return broken(), values;
    values.reserve(count);
    for (uint64_t i = 0; i < count && ok_; ++i) values.push_back(text());
    return values;
  }
  // The type that a message begins with.
  template <typename Type>
  Type type() {
    return static_cast<Type>(number());
  }
  bool ok() const { return ok_; }
  // All was read and all was well formed.
  bool done() const { return ok_ && data_.empty(); }
  std::string_view rest() const { return data_; }

 private:
  uint64_t broken() {
    ok_ = false;
    data_ = {};
    return 0;
  }

  std::string_view data_;
  bool ok_ = true;
};

}  // namespace cove::wire
