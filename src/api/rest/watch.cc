// Changes of files, as they happen.
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "api/rest/place.h"
#include "api/rest/query.h"
#include "api/rest/sse.h"
#include "base/text.h"

namespace cove::api {
namespace {

using Lease = engine::Engine::FileLease;

constexpr size_t kMostFolders = 8192;
constexpr uint32_t kChanges = IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB;
constexpr uint32_t kOwnEnd = IN_DELETE_SELF | IN_MOVE_SELF;
constexpr size_t kEventBuffer = 64 * kKiB;

// One event of inotify(7).
struct Noticed {
  int watched = 0;
  uint32_t mask = 0;
  std::string name;
};

// What was read may be anything: it came from a descriptor that was opened inside.
std::vector<Noticed> parse_events(std::string_view data) {
  std::vector<Noticed> events;
  while (data.size() >= sizeof(inotify_event)) {
    inotify_event head;
    std::memcpy(&head, data.data(), sizeof head);
    data.remove_prefix(sizeof head);
    if (head.len > data.size()) break;
    std::string_view name = data.substr(0, head.len);
    events.push_back({head.wd, head.mask, std::string(name.substr(0, name.find('\0')))});
    data.remove_prefix(head.len);
  }
  return events;
}

const char* change_name(uint32_t mask) {
  if (mask & IN_CREATE) return "create";
  if (mask & IN_MODIFY) return "modify";
  if (mask & (IN_DELETE | IN_DELETE_SELF)) return "delete";
  if (mask & (IN_MOVED_FROM | IN_MOVE_SELF)) return "move_from";
  if (mask & IN_MOVED_TO) return "move_to";
  return mask & IN_ATTRIB ? "attrib" : nullptr;
}

bool is_below(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path.substr(folder.size()).starts_with('/'));
}

enum class Reach { Folder, Tree };

// Watches a file, a folder, or all folders of a tree, and says in the API's words what has changed.
class Watch {
 public:
  Watch(View& view, std::string root, Reach reach) : view_(view), root_(std::move(root)), reach_(reach) {}

  Outcome begin() {
    FileEntry entry = COVE_TRY(checked_file(view_.stat(root_, Links::Follow)));
    is_folder_ = S_ISDIR(entry.mode);
    root_watch_ = COVE_TRY(checked_file(view_.watch(root_, kChanges | kOwnEnd)));
    paths_[root_watch_] = root_;
    if (reach_ == Reach::Tree && is_folder_) add_below(root_, Tell::Nothing);
    if (!overflow_) return {};
    return refuse(Problem(400, "invalid", concat(root_, " has more than ", kMostFolders, " folders"))
                      .advise("watch a smaller folder"));
  }

  int fd() const { return view_.events_fd(); }
  bool over() const { return over_; }

  // What has happened, as events for the caller.
  Checked<std::string> take() {
    std::string buffer(kEventBuffer, '\0');
    ssize_t count = ::read(fd(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::string();
    if (count <= 0) return refuse(503, "unavailable", "the sandbox no longer tells of changes");
    told_.clear();
    for (const Noticed& event : parse_events(std::string_view(buffer).substr(0, static_cast<size_t>(count))))
      handle(event);
    return std::move(told_);
  }

  // Whether the sandbox is still there.
  bool alive() {
    Result<FileEntry> entry = view_.stat("/", Links::Keep);
    return entry.has_value();
  }

 private:
  enum class Tell { Nothing, Entries };

  void tell(const char* type, const std::string& path, bool directory) {
    told_ += sse_event(std::nullopt, "change", dump(Json{{"type", type}, {"path", path}, {"directory", directory}}));
  }

  void handle(const Noticed& event) {
    if (event.mask & IN_Q_OVERFLOW) return tell("overflow", root_, is_folder_);
    auto found = paths_.find(event.watched);
    if (found == paths_.end()) return;
    if (event.mask & IN_IGNORED) return forget(event.watched);
    std::string folder = found->second;
    bool own = event.name.empty();
    // What happens to a folder below is told by the one around it.
    if (own && event.watched != root_watch_) return;
    std::string path = own ? folder : concat(folder == "/" ? "" : folder, "/", event.name);
    bool directory = own ? is_folder_ : (event.mask & IN_ISDIR) != 0;
    if (const char* name = change_name(event.mask)) tell(name, path, directory);
    if (own && (event.mask & kOwnEnd)) over_ = true;
    if (!own && directory && reach_ == Reach::Tree) follow_folder(event.mask, path);
  }

  void forget(int watched) {
    paths_.erase(watched);
    if (watched == root_watch_) over_ = true;
  }

  void follow_folder(uint32_t mask, const std::string& path) {
    if (mask & IN_MOVED_FROM) return drop_below(path);
    if (!(mask & (IN_CREATE | IN_MOVED_TO))) return;
    bool before = std::exchange(overflow_, false);
    add(path, mask & IN_CREATE ? Tell::Entries : Tell::Nothing);
    if (overflow_) tell("overflow", path, true);
    overflow_ = overflow_ || before;
  }

  // Errors are those of folders that are gone again, or may not be read: there is nothing to be told of them.
  void add(const std::string& folder, Tell tell_of) {
    if (paths_.size() >= kMostFolders) {
      overflow_ = true;
      return;
    }
    Result<int> watched = view_.watch(folder, kChanges | IN_ONLYDIR | IN_DONT_FOLLOW);
    if (!watched) return;
    paths_[*watched] = folder;
    add_below(folder, tell_of);
  }

  // What came into a new folder before it was watched would not be told by inotify; it may be told twice.
  void add_below(const std::string& folder, Tell tell_of) {
    Result<std::vector<FileEntry>> entries = view_.list(folder);
    if (!entries) return;
    for (const FileEntry& entry : *entries) {
      std::string path = concat(folder == "/" ? "" : folder, "/", entry.name);
      bool directory = S_ISDIR(entry.mode);
      if (tell_of == Tell::Entries) tell("create", path, directory);
      if (directory) add(path, tell_of);
      if (overflow_) return;
    }
  }

  void drop_below(const std::string& folder) {
    for (auto at = paths_.begin(); at != paths_.end();) {
      if (!is_below(at->second, folder)) {
        ++at;
        continue;
      }
      (void)view_.unwatch(at->first);
      at = paths_.erase(at);
    }
  }

  View& view_;
  std::string root_;
  Reach reach_;
  bool is_folder_ = false;
  int root_watch_ = -1;
  std::map<int, std::string> paths_;  // by watch descriptor
  bool overflow_ = false;             // there were too many folders
  bool over_ = false;                 // what was watched is gone
  std::string told_;
};

Outcome follow(EventStream& stream, Watch& watch) {
  COVE_TRY(stream.send(sse_event(std::nullopt, "ready", "{}")));
  while (!watch.over()) {
    EventStream::Wake wake = stream.wait(watch.fd());
    if (wake == EventStream::Wake::Gone || wake == EventStream::Wake::Stopping) return {};
    if (wake == EventStream::Wake::Timeout && !watch.alive())
      return refuse(503, "unavailable", "the sandbox does not run any more");
    if (wake != EventStream::Wake::Ready) continue;
    std::string events = COVE_TRY(watch.take());
    if (!events.empty()) COVE_TRY(stream.send(events));
  }
  COVE_TRY(stream.end());
  return {};
}

Outcome watch_folder(Call& call) {
  std::string wanted = COVE_TRY(path_parameter(call.request()));
  bool recursive = COVE_TRY(flag_parameter(call.request(), "recursive"));
  if (refuses(call.request(), kEventStream))
    return refuse(406, "not_acceptable", "this is to be had as text/event-stream only");
  Lease lease = COVE_TRY(lease_files(call, Scope::Read));
  std::string path = absolute_path(*lease.view, wanted);
  Watch watch(*lease.view, path, recursive ? Reach::Tree : Reach::Folder);
  COVE_TRY(watch.begin());
  EventStream stream(call.exchange);
  COVE_TRY(stream.begin());
  Outcome outcome = follow(stream, watch);
  if (!outcome) (void)stream.send_problem(outcome.error());
  return {};
}

}  // namespace

void add_watch(Routes& routes) {
  routes.add("GET", "/v1/sandboxes/{id}/watch", kTokenRead, watch_folder, {"path", "user", "recursive"});
}

}  // namespace cove::api
