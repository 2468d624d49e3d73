#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cove {

// A statement with its values, from the first row to the last; a prepared one goes back into the cache after that.
class Query {
 public:
  Query(sqlite3_stmt* statement, const std::string& path) : statement_(statement), path_(&path) {}
  Query(Query&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)), path_(other.path_) {}
  Query& operator=(Query&&) = delete;
  ~Query();

  // The next row; false where there is none.
  Result<bool> next();
  // Columns of the row, counted from 0.
  std::string text(int column) const;
  int64_t integer(int column) const;

  void bind(int place, std::string_view value);
  void bind(int place, int64_t value);
  void bind(int place, uint64_t value) { bind(place, static_cast<int64_t>(value)); }

 private:
  sqlite3_stmt* statement_;
  const std::string* path_;
};

// One connection to an SQLite file, used by one thread at a time. Statements are prepared at their first use.
// Errors: Exists where a key is taken, NotFound where a foreign key leads nowhere, Exhausted where the disk is full,
// Unavailable where somebody else holds the file, Internal where it is damaged or no database.
class Database {
 public:
  // The file exists. WAL, synchronous=NORMAL, foreign keys.
  static Result<std::unique_ptr<Database>> open(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Values take the places of the question marks. `sql` is a literal.
  template <typename... Values>
  Result<Query> query(const char* sql, const Values&... values) {
    Query prepared = COVE_TRY(prepare(sql));
    int place = 0;
    (prepared.bind(++place, values), ...);
    return prepared;
  }
  // The same, for what has no rows.
  template <typename... Values>
  Result<void> run(const char* sql, const Values&... values) {
    Query prepared = COVE_TRY(query(sql, values...));
    COVE_TRY(prepared.next());
    return {};
  }
  // The first column of the one row; 0 where there is none.
  template <typename... Values>
  Result<int64_t> number(const char* sql, const Values&... values) {
    Query prepared = COVE_TRY(query(sql, values...));
    return COVE_TRY(prepared.next()) ? prepared.integer(0) : 0;
  }
  // Any number of statements, without values, not cached.
  Result<void> execute(const std::string& sql);

  // All of it into another file, which exists and is empty.
  Result<void> copy_to(const std::string& path);

  int64_t changes() const;                              // rows that the last statement changed
  int64_t inserted() const;                             // the rowid of the last row inserted
  int journal_pages() const { return journal_pages_; }  // in the WAL, as of the last commit
  // Moves what no reader needs any more from the WAL into the file, with fsync; does not wait for anybody.
  Result<void> checkpoint();

 private:
  Database() = default;
  Result<Query> prepare(const char* sql);
  Result<void> configure();
  static int note_journal(void* database, sqlite3*, const char*, int pages);

  std::string path_;
  sqlite3* connection_ = nullptr;
  std::unordered_map<const char*, sqlite3_stmt*> statements_;  // by the literal's address
  int journal_pages_ = 0;
};

// BEGIN … COMMIT, or ROLLBACK where it goes without commit().
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace cove
