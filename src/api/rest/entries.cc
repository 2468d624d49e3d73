// Folders and what is in them.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "api/rest/paging.h"
#include "api/rest/place.h"
#include "api/rest/query.h"
#include "base/text.h"

namespace cove::api {
namespace {

using Lease = engine::Engine::FileLease;

constexpr int64_t kDeepest = 64;
constexpr size_t kListed = 1000;
constexpr size_t kMostListed = 10'000;
constexpr unsigned kNewFolder = 0755;
constexpr unsigned kUmask = 022;  // of the sandbox's file server

struct Listing {
  std::vector<PageItem> entries;
  size_t most = 0;
};

// What is in a folder, and below it down to `depth`; each folder in front of what is in it.
Outcome list_into(Listing& listing, View& view, const std::string& folder, int64_t depth) {
  std::vector<FileEntry> found = COVE_TRY(checked_file(view.list(folder)));
  std::ranges::sort(found, {}, &FileEntry::name);
  for (const FileEntry& entry : found) {
    if (listing.entries.size() >= listing.most) return {};
    std::string path = concat(folder == "/" ? "" : folder, "/", entry.name);
    listing.entries.push_back({path, dump(entry_json(view, entry, path))});
    // A folder below that cannot be read, or is gone by now, is listed without what is in it.
    if (depth > 1 && S_ISDIR(entry.mode)) (void)list_into(listing, view, path, depth - 1);
  }
  return {};
}

// The path itself may be a link to a folder.
Checked<FileEntry> stat_listed(View& view, const std::string& path, int64_t depth) {
  FileEntry entry = COVE_TRY(checked_file(view.stat(path, Links::Keep)));
  if (depth == 0 || !S_ISLNK(entry.mode)) return entry;
  Result<FileEntry> target = view.stat(path, Links::Follow);
  return target && S_ISDIR(target->mode) ? *target : entry;
}

Outcome list_entries(Call& call) {
  std::string wanted = COVE_TRY(path_parameter(call.request()));
  int64_t depth = COVE_TRY(integer_parameter(call.request(), "depth", 0, kDeepest)).value_or(1);
  const PagePlace after = COVE_TRY(parse_page_cursor(text_parameter(call.request(), "after")));
  const size_t limit = COVE_TRY(limit_parameter(call.request(), kListed, kMostListed));
  Lease lease = COVE_TRY(lease_files(call, Scope::Read));
  std::string path = absolute_path(*lease.view, wanted);
  FileEntry entry = COVE_TRY(stat_listed(*lease.view, path, depth));
  const bool alone = depth == 0 || !S_ISDIR(entry.mode);
  Listing listing{{}, after.index + limit + 1};  // one more than the page: whether there is another
  if (alone)
    listing.entries.push_back({path, dump(entry_json(*lease.view, entry, path))});
  else
    COVE_TRY(list_into(listing, *lease.view, path, depth));
  return call.respond(200, page_of(listing.entries, after, limit));
}

Outcome respond_entry(Call& call, Lease& lease, int status, const std::string& path, Links links) {
  FileEntry entry = COVE_TRY(checked_file(lease.view->stat(path, links)));
  return call.respond(status, dump(entry_json(*lease.view, entry, path)));
}

Result<std::string> take_path(Fields& fields, const std::string& name) {
  return fields.checked(name, check_path(COVE_TRY(required(fields, name, fields.text(name)))));
}

Result<std::optional<unsigned>> take_mode(Fields& fields) {
  auto text = COVE_TRY(fields.text("mode"));
  if (!text) return std::nullopt;
  return COVE_TRY(fields.checked("mode", parse_mode(*text)));
}

Outcome make_folder(View& view, const std::string& path, std::optional<unsigned> mode, Depth depth) {
  Result<FileEntry> old = view.stat(path, Links::Follow);
  if (old && depth == Depth::Recursive && S_ISDIR(old->mode)) return {};
  if (old) return refuse(409, "exists", concat(path, " is there already"));
  unsigned wanted = mode.value_or(kNewFolder);
  COVE_TRY(checked_file(view.mkdir(path, wanted, depth)));
  if ((wanted & ~kUmask) != wanted || wanted > 0777) COVE_TRY(checked_file(view.chmod(path, wanted)));
  return {};
}

Outcome mkdir(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  std::string wanted = COVE_TRY(take_path(fields, "path"));
  auto mode = COVE_TRY(take_mode(fields));
  bool parents = COVE_TRY(fields.flag("parents")).value_or(false);
  COVE_TRY(fields.finish());
  Lease lease = COVE_TRY(lease_files(call, Scope::Run));
  std::string path = absolute_path(*lease.view, wanted);
  COVE_TRY(make_folder(*lease.view, path, mode, parents ? Depth::Recursive : Depth::One));
  note_file(call, lease, "file.made", {{"path", path}});
  return respond_entry(call, lease, 201, path, Links::Follow);
}

// A file where a folder is, or the other way round: it is the place that does not allow it.
Problem move_problem(Error error) {
  bool taken = error.errnum() == EEXIST || error.errnum() == EISDIR || error.errnum() == ENOTDIR;
  return taken ? Problem(std::move(error).as(Code::Conflict)) : file_problem(std::move(error));
}

Outcome move(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  std::string wanted_from = COVE_TRY(take_path(fields, "from"));
  std::string wanted_to = COVE_TRY(take_path(fields, "to"));
  COVE_TRY(fields.finish());
  Lease lease = COVE_TRY(lease_files(call, Scope::Run));
  std::string from = absolute_path(*lease.view, wanted_from);
  std::string to = absolute_path(*lease.view, wanted_to);
  Result<void> moved = lease.view->rename(from, to);
  if (!moved) return refuse(move_problem(moved.error()));
  note_file(call, lease, "file.moved", {{"from", from}, {"to", to}});
  return respond_entry(call, lease, 200, to, Links::Keep);
}

Outcome chmod(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  std::string wanted = COVE_TRY(take_path(fields, "path"));
  auto mode = COVE_TRY(take_mode(fields));
  COVE_TRY(fields.finish());
  if (!mode) return refuse(fields.missing("mode"));
  Lease lease = COVE_TRY(lease_files(call, Scope::Run));
  std::string path = absolute_path(*lease.view, wanted);
  COVE_TRY(checked_file(lease.view->chmod(path, *mode)));
  note_file(call, lease, "file.mode", {{"path", path}, {"mode", mode_text(*mode)}});
  return respond_entry(call, lease, 200, path, Links::Follow);
}

}  // namespace

void add_entries(Routes& routes) {
  routes.add("GET", "/v1/sandboxes/{id}/entries", kTokenRead, list_entries,
             {"path", "depth", "user", "after", "limit"});
  routes.add("POST", "/v1/sandboxes/{id}/entries/mkdir", kTokenRun, mkdir, {"user"}, Conditions::Refused, Repeat::Once);
  routes.add("POST", "/v1/sandboxes/{id}/entries/move", kTokenRun, move, {"user"});
  routes.add("POST", "/v1/sandboxes/{id}/entries/chmod", kTokenRun, chmod, {"user"});
}

}  // namespace cove::api
