#include "store/store.h"

#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/crash_point.h"
#include "base/text.h"
#include "store/database.h"
#include "store/folder_lock.h"
#include "store/schema.h"
#include "sys/file.h"
#include "sys/own_folder.h"

namespace cove {
namespace {

// Pages of 4 KiB in the journal: from the first number on, checkpoint() moves them; at the second, a change does.
constexpr int kLongJournal = 4096;
constexpr int kLongestJournal = 65536;
constexpr uint64_t kLongestLog = 4 << 20;  // from there on, a change commits the batch

int64_t now_ms() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Result<void> sync_folder(const std::string& path) {
  UniqueFd folder = COVE_TRY(sys::open(path, O_RDONLY | O_DIRECTORY));
  if (::fsync(folder.get()) < 0) return fail_errno(concat("fsync ", path));
  return {};
}

Result<void> make_own_folder(const std::string& path) {
  if (!sys::exists(path)) COVE_TRY_NOTE("make the state folder", sys::make_folders(path, 0700));
  COVE_TRY(sys::stat_own_folder(path, sys::kStateFolder));
  return {};
}

// SQLite makes its other files with the rights of this one; it holds hashes of keys.
Result<void> make_file(const std::string& path) {
  COVE_TRY(sys::open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  return {};
}

// Not 0, and none that was there before: so a log beside a database that was put back from elsewhere is not taken for
// its.
uint64_t random_number() {
  uint64_t number = 0;
  while (number == 0)
    if (::getrandom(&number, sizeof number, 0) != sizeof number) std::abort();
  return number >> 1;  // SQLite's numbers have a sign
}

// A full disk is no reason not to begin: what is in the log stays there until there is room.
Result<void> unless_full(Result<void> done) {
  if (!done && done.error().code() == Code::Exhausted) return {};
  return done;
}

// From here on, until its end, what changes the database is noted.
class Recording {
 public:
  Recording(Database& database, RedoRecord& record) : database_(&database) {
    record.clear();
    database.record_to(&record);
  }
  ~Recording() { end(); }
  void end() { database_->record_to(nullptr); }

 private:
  Database* database_;
};

void reach(std::string_view change, std::string_view moment) {
  if (crash_armed()) crash_point(concat("store.", change, moment));
}

}  // namespace

Store::Store() = default;

Store::~Store() {
  if (database_ != nullptr) static_cast<void>(settle());
  // The last one to close moves the journal into the file.
  checkpointer_.reset();
  database_.reset();
}

Result<std::unique_ptr<Store>> Store::open(const std::string& folder) {
  COVE_TRY(make_own_folder(folder));
  std::unique_ptr<Store> store(new Store());
  store->folder_ = folder;
  store->lock_ = COVE_TRY(lock_folder(folder));
  COVE_TRY_NOTE("open the state", store->open_database());
  return store;
}

Result<void> Store::open_database() {
  std::string path = folder_ + "/cove.db";
  COVE_TRY(make_file(path));
  database_ = COVE_TRY(Database::open(path));
  COVE_TRY(open_log(folder_ + "/cove.redo"));
  COVE_TRY(migrate(*database_, migrations()));
  if (batch_ == 0) {
    batch_ = random_number();
    COVE_TRY(note_batch(batch_));
  }
  checkpointer_ = COVE_TRY(Database::open(path));
  last_event_ = static_cast<uint64_t>(COVE_TRY(database_->number("SELECT max(seq) FROM events")));
  journal_ = COVE_TRY(sys::open(path + "-wal", O_RDWR));
  COVE_TRY(unless_full(checkpoint()));
  return sync_folder(folder_);
}

// What the log has is of the version that wrote it, so it comes before anything else.
Result<void> Store::open_log(const std::string& path) {
  log_ = COVE_TRY(RedoLog::open(path));
  int64_t version = COVE_TRY(version_of(*database_));
  if (version == 0 || version > static_cast<int64_t>(migrations().size())) return {};
  batch_ = static_cast<uint64_t>(COVE_TRY(database_->number("SELECT value FROM meta WHERE name = 'batch'")));
  if (!has_pending()) return {};
  COVE_TRY_NOTE(concat("do what ", path, " has"), begin_batch());
  Result<void> settled = settle();
  // A newer version's tables are not made under statements of an older one.
  return version < static_cast<int64_t>(migrations().size()) ? settled : unless_full(settled);
}

void Store::on_events(std::function<void()> hook) { hook_ = std::move(hook); }

Result<uint64_t> Store::change(Kind kind, std::span<const EventDraft> events, const Apply& apply) {
  uint64_t last = 0;
  {
    std::lock_guard turn(mutex_);
    last = COVE_TRY(kind.survives == Survives::PowerCut ? change_durably(kind, events, apply)
                                                        : change_in_batch(kind, events, apply));
    if (last != 0) last_event_.store(last, std::memory_order_release);
  }
  if (last != 0 && hook_) hook_();
  return last;
}

Result<uint64_t> Store::change_in_batch(Kind kind, std::span<const EventDraft> events, const Apply& apply) {
  COVE_TRY(begin_batch());
  Result<uint64_t> last = [&]() -> Result<uint64_t> {
    Savepoint savepoint = COVE_TRY(Savepoint::begin(*database_));
    Recording recording(*database_, record_);
    COVE_TRY(apply());
    uint64_t newest = COVE_TRY(append(events));
    recording.end();
    reach(kind.name, ".before_commit");
    if (!record_.bytes().empty()) COVE_TRY(log_->append(record_.bytes()));
    reach(kind.name, ".after_commit");
    COVE_TRY(savepoint.keep());
    return newest;
  }();
  // Where SQLite gave up more than this change, the others are made again.
  if (!last && !database_->in_transaction()) COVE_TRY(begin_batch());
  if (log_->bytes() >= kLongestLog) static_cast<void>(settle());
  return last;
}

Result<uint64_t> Store::change_durably(Kind kind, std::span<const EventDraft> events, const Apply& apply) {
  COVE_TRY(settle());
  COVE_TRY(database_->execute("PRAGMA synchronous=FULL"));
  Result<uint64_t> last = [&]() -> Result<uint64_t> {
    Transaction transaction = COVE_TRY(Transaction::begin(*database_));
    COVE_TRY(apply());
    uint64_t newest = COVE_TRY(append(events));
    reach(kind.name, ".before_commit");
    COVE_TRY(transaction.commit());
    reach(kind.name, ".after_commit");
    return newest;
  }();
  static_cast<void>(database_->execute("PRAGMA synchronous=NORMAL"));
  journal_pages_ = database_->journal_pages();
  return last;
}

// The batch that the log has, if it is the one that comes next; else a new one.
Result<void> Store::begin_batch() {
  if (database_->in_transaction()) return {};
  if (log_->previous() != batch_) COVE_TRY(log_->restart(batch_, random_number()));
  Transaction transaction = COVE_TRY(Transaction::begin(*database_));
  COVE_TRY(note_batch(log_->batch()));
  if (!log_->empty())
    for (const std::string& record : COVE_TRY(log_->records())) COVE_TRY(redo(*database_, record));
  transaction.leave_open();
  return {};
}

Result<void> Store::note_batch(uint64_t batch) {
  return database_->run("INSERT INTO meta VALUES ('batch', ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
                        batch);
}

bool Store::has_pending() const { return log_ && batch_ != 0 && log_->previous() == batch_ && !log_->empty(); }

Result<void> Store::settle() {
  // A commit that failed may have left what was promised in the log alone.
  if (!database_->in_transaction()) {
    if (!has_pending()) return {};
    COVE_TRY(begin_batch());
  }
  reach("settle", ".before_commit");
  Result<void> done = database_->run("COMMIT");
  if (!done && !database_->in_transaction()) COVE_TRY(begin_batch());
  if (!done) return done;
  reach("settle", ".after_commit");
  batch_ = log_->batch();
  journal_pages_ = database_->journal_pages();
  if (journal_pages_ >= kLongestJournal) static_cast<void>(database_->checkpoint());
  return {};
}

Result<uint64_t> Store::append(std::span<const EventDraft> events) {
  for (const EventDraft& event : events)
    COVE_TRY(
        database_->run("INSERT INTO events (time_ms, kind, project, sandbox_id, exec_id, actor, data) "
                       "VALUES (?, ?, ?, ?, ?, ?, ?)",
                       event.time_ms != 0 ? event.time_ms : now_ms(), event.kind, event.project, event.sandbox_id,
                       event.exec_id, event.actor, event.data));
  return events.empty() ? 0 : static_cast<uint64_t>(database_->inserted());
}

Result<void> Store::checkpoint() {
  {
    std::lock_guard turn(mutex_);
    COVE_TRY(settle());
  }
  std::lock_guard turn(checkpoint_mutex_);
  if (::fdatasync(journal_.get()) < 0) return fail_errno(concat("fdatasync ", folder_, "/cove.db-wal"));
  if (journal_pages_ < kLongJournal) return {};
  return checkpointer_->checkpoint();
}

}  // namespace cove
