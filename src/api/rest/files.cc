// One file: read, look at, write, remove.
#include <sys/stat.h>

#include "api/rest/conditions.h"
#include "api/rest/place.h"
#include "api/rest/query.h"
#include "api/rest/range.h"
#include "base/id.h"
#include "base/text.h"
#include "sys/file.h"

namespace cove::api {
namespace {

using Lease = engine::Engine::FileLease;

constexpr unsigned kNewFile = 0644;
constexpr unsigned kUmask = 022;  // of the sandbox's file server

std::string http_time(time_t seconds) {
  struct tm parts = {};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text;
}

// Changes whenever the file is written or replaced.
std::string entity_tag(const struct stat& info) {
  char text[80];
  std::snprintf(text, sizeof text, "\"%llx-%llx-%llx%09lx\"", static_cast<unsigned long long>(info.st_ino),
                static_cast<unsigned long long>(info.st_size), static_cast<unsigned long long>(info.st_mtim.tv_sec),
                static_cast<unsigned long>(info.st_mtim.tv_nsec));
  return text;
}

Outcome check_regular(uint64_t mode, const std::string& path) {
  if (S_ISREG(mode)) return {};
  return invalid(concat(path, S_ISDIR(mode) ? " is a folder" : " is not a regular file"));
}

struct OpenFile {
  UniqueFd fd;
  struct stat info = {};
  FileEntry entry;  // with owners as they are inside
};

// What is opened by name inside can be anything: only a regular file is served.
Checked<OpenFile> open_file(View& view, const std::string& path) {
  OpenFile file;
  file.fd = COVE_TRY(checked_file(view.open(path, O_RDONLY)));
  file.info = COVE_TRY(sys::fstat(file.fd.get()));
  COVE_TRY(check_regular(file.info.st_mode, path));
  file.entry = COVE_TRY(checked_file(view.stat(path, Links::Follow)));
  return file;
}

http::Headers headers_of(const OpenFile& file) {
  return {{"Content-Type", "application/octet-stream"},
          {"Accept-Ranges", "bytes"},
          {"ETag", entity_tag(file.info)},
          {"Last-Modified", http_time(file.info.st_mtim.tv_sec)},
          {"Cove-Mode", mode_text(file.info.st_mode)},
          {"Cove-Owner", concat(file.entry.uid, ":", file.entry.gid)},
          {"X-Content-Type-Options", "nosniff"}};
}

RangeChoice wanted_range(const http::Request& request, const OpenFile& file) {
  auto condition = request.header("if-range");
  if (condition && *condition != entity_tag(file.info)) return {};
  return choose_range(request.header("range").value_or(""), static_cast<uint64_t>(file.info.st_size));
}

Outcome send(Call& call, const OpenFile& file, int status, http::Headers headers, ByteRange range) {
  COVE_TRY(call.exchange.begin(status, headers, range.count));
  COVE_TRY(call.exchange.send_file(file.fd.get(), range.offset, range.count));
  COVE_TRY(call.exchange.end());
  return {};
}

Outcome read_file(Call& call) {
  std::string path = COVE_TRY(path_parameter(call.request()));
  Lease lease = COVE_TRY(lease_files(call, Scope::Read));
  OpenFile file = COVE_TRY(open_file(*lease.view, path));
  if (COVE_TRY(is_known(call.request(), entity_tag(file.info)))) {
    COVE_TRY(call.exchange.respond(304, {{"ETag", entity_tag(file.info)}}, ""));
    return {};
  }
  auto size = static_cast<uint64_t>(file.info.st_size);
  RangeChoice choice = wanted_range(call.request(), file);
  if (choice.kind == RangeKind::Unsatisfied)
    return refuse(Problem(416, "precondition", concat(path, " has ", size, " bytes"))
                      .header("Content-Range", concat("bytes */", size)));
  ByteRange range = choice.kind == RangeKind::Part ? choice.range : ByteRange{0, size};
  http::Headers headers = headers_of(file);
  if (choice.kind == RangeKind::Part)
    headers.emplace_back("Content-Range",
                         concat("bytes ", range.offset, "-", range.offset + range.count - 1, "/", size));
  if (call.request().method != "HEAD")
    note_file(call, lease, "file.read", {{"path", absolute_path(*lease.view, path)}, {"bytes", range.count}});
  return send(call, file, choice.kind == RangeKind::Part ? 206 : 200, std::move(headers), range);
}

// The same error under another name.
Error renamed(const Error& error, std::string what) {
  return error.errnum() != 0 ? Error::from_errno(error.errnum(), std::move(what)) : error;
}

// A file beside the one that is to be written; gone again unless it was put in its place.
class Upload {
 public:
  static Checked<Upload> create(View& view, const std::string& target) {
    std::string path = concat(folder_of(target), "/.cove-upload-", make_id());
    Result<UniqueFd> fd = view.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kNewFile);
    // The caller knows nothing of this name.
    if (!fd) return refuse(file_problem(renamed(fd.error(), concat("write ", target, " in the sandbox"))));
    return Upload(view, std::move(path), std::move(*fd));
  }
  Upload(Upload&& other) noexcept
      : view_(other.view_), path_(std::exchange(other.path_, {})), fd_(std::move(other.fd_)) {}
  ~Upload() {
    if (!path_.empty()) (void)view_.remove(path_, Depth::One);
  }

  Checked<uint64_t> take(http::Exchange& exchange) {
    Result<uint64_t> count = exchange.read_to(fd_.get());
    if (count) return *count;
    bool of_the_caller = count.error().code() == Code::Unavailable || count.error().code() == Code::Invalid;
    return refuse(of_the_caller ? body_problem(count.error()) : file_problem(count.error()));
  }

  Outcome put(const std::string& target, unsigned mode) {
    if (mode != (kNewFile & ~kUmask)) COVE_TRY(checked_file(view_.chmod(path_, mode)));
    COVE_TRY(checked_file(view_.rename(path_, target)));
    path_.clear();
    return {};
  }

 private:
  Upload(View& view, std::string path, UniqueFd fd) : view_(view), path_(std::move(path)), fd_(std::move(fd)) {}

  View& view_;
  std::string path_;
  UniqueFd fd_;
};

// What is at the place already, if anything; only a regular file can be replaced.
Checked<std::optional<FileEntry>> find_old(View& view, const std::string& target) {
  Result<FileEntry> entry = view.stat(target, Links::Keep);
  if (!entry && entry.error().code() == Code::NotFound) return std::nullopt;
  FileEntry old = COVE_TRY(checked_file(std::move(entry)));
  COVE_TRY(check_regular(old.mode, target));
  return old;
}

// That what is there now is what the caller wants to change.
Outcome check_current(const http::Request& request, View& view, const std::string& path) {
  if (!is_conditional(request)) return {};
  Checked<OpenFile> file = open_file(view, path);
  if (!file && file.error().status != 404) return refuse(std::move(file).error());
  return check_unchanged(request, file ? std::optional(entity_tag(file->info)) : std::nullopt);
}

Outcome write_file(Call& call) {
  std::string path = COVE_TRY(path_parameter(call.request()));
  auto mode = COVE_TRY(mode_parameter(call.request()));
  bool parents = COVE_TRY(flag_parameter(call.request(), "parents"));
  if (path.ends_with('/')) return invalid("'path' must be the path of a file");
  Lease lease = COVE_TRY(lease_files(call, Scope::Run));
  View& view = *lease.view;
  std::string target = COVE_TRY(checked_file(follow_links(view, path)));
  auto old = COVE_TRY(find_old(view, target));
  COVE_TRY(check_current(call.request(), view, target));
  if (parents && !old) COVE_TRY(checked_file(view.mkdir(folder_of(target), 0755, Depth::Recursive)));
  Upload upload = COVE_TRY(Upload::create(view, target));
  uint64_t bytes = COVE_TRY(upload.take(call.exchange));
  COVE_TRY(check_current(call.request(), view, target));  // again: the body may have taken its time
  COVE_TRY(upload.put(target, mode.value_or(old ? old->mode & 0777 : kNewFile)));
  std::string absolute = absolute_path(view, path);
  note_file(call, lease, "file.written", {{"path", absolute}, {"bytes", bytes}});
  return call.respond(old ? 200 : 201, dump(Json{{"path", absolute}, {"bytes", bytes}}));
}

Outcome remove_file(Call& call) {
  std::string path = COVE_TRY(path_parameter(call.request()));
  bool recursive = COVE_TRY(flag_parameter(call.request(), "recursive"));
  Lease lease = COVE_TRY(lease_files(call, Scope::Run));
  COVE_TRY(check_current(call.request(), *lease.view, path));
  COVE_TRY(checked_file(lease.view->remove(path, recursive ? Depth::Recursive : Depth::One)));
  note_file(call, lease, "file.removed", {{"path", absolute_path(*lease.view, path)}});
  return call.no_content();
}

}  // namespace

void add_files(Routes& routes) {
  routes.add("GET", "/v1/sandboxes/{id}/files", kSignedRead, read_file, {"path", "user"}, Conditions::Honoured);
  routes.add("PUT", "/v1/sandboxes/{id}/files", kSignedRun, write_file, {"path", "user", "mode", "parents"},
             Conditions::Honoured);
  routes.add("DELETE", "/v1/sandboxes/{id}/files", kTokenRun, remove_file, {"path", "user", "recursive"},
             Conditions::Honoured);
}

}  // namespace cove::api
