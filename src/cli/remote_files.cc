#include "cli/remote_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "cli/remote_glob.h"
#include "cli/sandbox_path.h"
#include "client/pack.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

using client::Parents;
using client::Place;
using client::text_of;

constexpr int kMaxDepth = 64;

Place at(const Place& folder, const std::string& path) {
  return {folder.sandbox, path.starts_with('/') ? path : below(folder.path, path), folder.user};
}

bool is_folder(Api& api, const Place& place) {
  return api.entry({place.sandbox, below(place.path, "."), place.user}).has_value();
}

Result<void> refuse_special(const std::string& path, const std::string& why) {
  return fail(Code::Invalid, concat("copy ", path, ": ", why));
}

class Exporter {
 public:
  Exporter(Api& api, uint64_t& room, Json& files, Json& denials)
      : api_(api), room_(room), files_(files), denials_(denials) {}

  // `folder` is open on this machine; `name` is one component, whatever the sandbox called it.
  Result<void> copy(const Place& place, int folder, const std::string& host_folder, const std::string& name,
                    int depth) {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos || depth > kMaxDepth)
      return leave_out(place.path, "its name or depth is not acceptable");
    Json entry = COVE_TRY(api_.entry(place));
    std::string type = text_of(entry, "type");
    if (type == "directory") return copy_folder(place, folder, below(host_folder, name), name, depth);
    if (type == "file") return copy_file(place, folder, below(host_folder, name), name);
    return leave_out(place.path, type == "symlink" ? "it is a link" : "it is neither a file nor a folder");
  }

 private:
  Result<void> leave_out(const std::string& path, const std::string& why) {
    denials_.push_back({{"what", concat("copy out ", path)}, {"why", why}});
    return {};
  }

  Result<void> copy_folder(const Place& place, int folder, const std::string& host_path, const std::string& name,
                           int depth) {
    if (::mkdirat(folder, name.c_str(), 0755) < 0 && errno != EEXIST) return fail_errno(concat("mkdir ", host_path));
    UniqueFd inner = COVE_TRY(sys::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    std::vector<std::string> names;
    for (const Json& entry : COVE_TRY(api_.entries(place, 1))) names.push_back(text_of(entry, "name"));
    std::sort(names.begin(), names.end());
    for (const std::string& each : names)
      COVE_TRY(copy({place.sandbox, below(place.path, each), place.user}, inner.get(), host_path, each, depth + 1));
    return {};
  }

  // Non-blocking, because the target may be a FIFO.
  static Result<UniqueFd> open_target(int folder, const std::string& name, mode_t mode) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;
    UniqueFd to = COVE_TRY(sys::openat(folder, name, kFlags, mode & 0755));
    struct stat info = COVE_TRY(sys::fstat(to.get()));
    if (!S_ISREG(info.st_mode)) return fail(Code::Invalid, concat(name, " exists and is not a regular file"));
    return to;
  }

  Result<void> check_room(const Place& place, uint64_t bytes) const {
    if (bytes <= room_) return {};
    return fail(Error(Code::Exhausted, concat("copy ", place.path, ": exceeds the total size that may be copied out"))
                    .hint("copy fewer or smaller files"));
  }

  Result<void> copy_file(const Place& place, int folder, const std::string& host_path, const std::string& name) {
    client::ResponseHead head = COVE_TRY(api_.open_file(place));
    COVE_TRY(check_room(place, api_.body().length().value_or(0)));
    auto mode = static_cast<mode_t>(std::strtoul(std::string(head.header("cove-mode")).c_str(), nullptr, 8));
    UniqueFd to = COVE_TRY_NOTE(concat("copy out to ", host_path), open_target(folder, name, mode));
    uint64_t bytes = COVE_TRY(api_.body().copy_to(to.get(), {}));
    room_ -= std::min(room_, bytes);
    files_.push_back({{"path", place.path}, {"host_path", host_path}, {"bytes", bytes}});
    return {};
  }

  Api& api_;
  uint64_t& room_;
  Json& files_;
  Json& denials_;
};

}  // namespace

Result<void> bring_in(Api& api, const Place& folder, const CopyIn& order) {
  std::string destination = order.destination.empty() ? folder.path + "/" : order.destination;
  Place target = at(folder, destination);
  bool into = destination.ends_with('/') || is_folder(api, target);
  std::string parent = into ? target.path : folder_of(target.path);
  std::string name = base_name(into ? order.source : target.path);
  auto produce = [&](client::BodyWriter& body) -> Result<void> {
    std::optional<Error> refused;
    auto refuse = [&](const std::string& path, const std::string& why) { refused = refuse_special(path, why).error(); };
    auto archive = COVE_TRY(client::archive_to(body));
    COVE_TRY(client::pack(archive, order.source, name, refuse));
    if (refused) return fail(*refused);
    return archive.finish();
  };
  COVE_TRY_NOTE(concat("copy ", order.source, " in"), api.unpack({folder.sandbox, parent, folder.user}, produce, {}));
  return {};
}

Result<void> bring_in(Api& api, const Place& folder, const InlineFile& file) {
  client::Upload upload;
  upload.data = file.data;
  COVE_TRY(api.upload(at(folder, file.path), upload));
  return {};
}

Result<void> bring_out(Api& api, const Place& folder, const CopyOut& order, uint64_t& room, Json& files,
                       Json& denials) {
  std::string host_folder = order.folder.empty() ? "." : order.folder;
  COVE_TRY(sys::make_folders(host_folder));
  UniqueFd target = COVE_TRY(sys::open(host_folder, O_RDONLY | O_DIRECTORY));
  std::vector<std::string> matches = COVE_TRY(remote_glob(api, folder, order.glob));
  if (matches.empty())
    denials.push_back({{"what", concat("copy out ", order.glob)}, {"why", "nothing inside matches it"}});
  Exporter exporter(api, room, files, denials);
  for (const std::string& match : matches)
    COVE_TRY(exporter.copy(at(folder, match), target.get(), host_folder, base_name(match), 0));
  return {};
}

}  // namespace cove::cli
