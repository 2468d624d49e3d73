#include "store/redo_record.h"

#include <cstring>
#include <optional>

#include "store/database.h"

namespace cove {
namespace {

// Takes a record apart; its checksum was right, so what does not fit was written by another version.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }

  template <typename Number>
  Result<Number> number() {
    std::string_view taken = COVE_TRY(take(sizeof(Number)));
    Number value;
    std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  Result<std::string_view> text() { return take(COVE_TRY(number<uint32_t>())); }

 private:
  Result<std::string_view> take(size_t count) {
    if (bytes_.size() < count) return fail(Code::Internal, "a record of the redo log is too short");
    std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::string_view bytes_;
};

Result<void> bind(Query& query, int place, Reader& reader) {
  switch (COVE_TRY(reader.number<char>())) {
    case 't':
      query.bind(place, COVE_TRY(reader.text()));
      return {};
    case 'i':
      query.bind(place, COVE_TRY(reader.number<int64_t>()));
      return {};
    default:
      return fail(Code::Internal, "a record of the redo log has a value of an unknown kind");
  }
}

}  // namespace

Result<void> redo(Database& database, std::string_view record) {
  for (Reader reader(record); !reader.at_end();) {
    Query query = COVE_TRY(database.query_text(COVE_TRY(reader.text())));
    int count = COVE_TRY(reader.number<uint8_t>());
    for (int place = 1; place <= count; ++place) COVE_TRY(bind(query, place, reader));
    COVE_TRY(query.next());
  }
  return {};
}

}  // namespace cove
