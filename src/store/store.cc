#include "store/store.h"

#include <unistd.h>

#include <chrono>

#include "base/crash_point.h"
#include "base/text.h"
#include "store/backup.h"
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

// A full disk is no reason not to begin: what is in the journal stays there until there is room.
Result<void> unless_full(Result<void> done) {
  if (!done && done.error().code() == Code::Exhausted) return {};
  return done;
}

void reach(std::string_view change, std::string_view moment) {
  if (crash_armed()) crash_point(concat("store.", change, moment));
}

}  // namespace

Store::Store() = default;

Store::~Store() {
  // The last one to close moves the journal into the file.
  checkpointer_.reset();
  reader_.reset();
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
  COVE_TRY(back_up_before_migration(*database_, path, migrations()));
  COVE_TRY(migrate(*database_, migrations()));
  ::unlink((folder_ + "/cove.redo").c_str());  // left by version 3, which kept changes there until it ended
  checkpointer_ = COVE_TRY(Database::open(path));
  reader_ = COVE_TRY(Database::open(path));
  last_event_ = static_cast<uint64_t>(COVE_TRY(database_->number("SELECT max(seq) FROM events")));
  journal_ = COVE_TRY(sys::open(path + "-wal", O_RDWR));
  COVE_TRY(unless_full(checkpoint()));
  return sync_folder(folder_);
}

void Store::on_events(std::function<void()> hook) { hook_ = std::move(hook); }

Result<uint64_t> Store::change(Kind kind, std::span<const EventDraft> events, const Apply& apply) {
  uint64_t last = 0;
  {
    std::lock_guard turn(mutex_);
    const bool durable = kind.survives == Survives::PowerCut;
    if (durable) COVE_TRY(database_->execute("PRAGMA synchronous=FULL"));
    Result<uint64_t> committed = commit(kind, events, apply);
    if (durable) static_cast<void>(database_->execute("PRAGMA synchronous=NORMAL"));
    last = COVE_TRY(std::move(committed));
    if (last != 0) last_event_.store(last, std::memory_order_release);
  }
  if (last != 0 && hook_) hook_();
  return last;
}

Result<uint64_t> Store::commit(Kind kind, std::span<const EventDraft> events, const Apply& apply) {
  Transaction transaction = COVE_TRY(Transaction::begin(*database_));
  COVE_TRY(apply());
  uint64_t last = COVE_TRY(append(events));
  reach(kind.name, ".before_commit");
  COVE_TRY(transaction.commit());
  reach(kind.name, ".after_commit");
  journal_pages_ = database_->journal_pages();
  if (journal_pages_ >= kLongestJournal) static_cast<void>(database_->checkpoint());
  return last;
}

Result<uint64_t> Store::append(std::span<const EventDraft> events) {
  for (const EventDraft& event : events)
    COVE_TRY(
        database_->run("INSERT INTO events (time_ms, kind, project, sandbox_id, exec_id, actor, data, session) "
                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CASE WHEN instr(?7, '\"session\":') AND json_valid(?7) "
                       "THEN coalesce(json_extract(?7, '$.session'), '') ELSE '' END)",
                       event.time_ms != 0 ? event.time_ms : now_ms(), event.kind, event.project, event.sandbox_id,
                       event.exec_id, event.actor, event.data));
  return events.empty() ? 0 : static_cast<uint64_t>(database_->inserted());
}

Result<void> Store::checkpoint() {
  std::lock_guard turn(checkpoint_mutex_);
  if (::fdatasync(journal_.get()) < 0) return fail_errno(concat("fdatasync ", folder_, "/cove.db-wal"));
  if (journal_pages_ < kLongJournal) return {};
  return checkpointer_->checkpoint();
}

}  // namespace cove
