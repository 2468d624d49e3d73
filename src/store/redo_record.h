#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cove {

class Database;

// The statements of one change with their values, as they stand in the redo log.
class RedoRecord {
 public:
  template <typename... Values>
  void add(std::string_view sql, const Values&... values) {
    put_text(sql);
    put(static_cast<uint8_t>(sizeof...(values)));
    (put_value(values), ...);
  }
  void clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

 private:
  template <typename Number>
  void put(Number number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void put_text(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  void put_value(std::string_view text) {
    put('t');
    put_text(text);
  }
  void put_value(int64_t number) {
    put('i');
    put(number);
  }
  void put_value(uint64_t number) { put_value(static_cast<int64_t>(number)); }

  std::string bytes_;
};

// Makes the change again.
Result<void> redo(Database& database, std::string_view record);

}  // namespace cove
