#include "api/rest/place.h"

#include <sys/stat.h>

#include <cstdio>

#include "api/rest/query.h"
#include "api/rest/values.h"
#include "base/encoding.h"
#include "base/text.h"

namespace cove::api {
namespace {

constexpr int kMostLinks = 40;  // as the kernel has it

const char* type_name(uint64_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "directory";
  return S_ISLNK(mode) ? "symlink" : "other";
}

}  // namespace

Checked<engine::Engine::FileLease> lease_files(Call& call, Scope scope) {
  std::string user(call.request().parameter("user").value_or(""));
  if (!user.empty()) COVE_TRY(check_user(user));
  return COVE_TRY(call.engine().files(call.caller, call.sandbox(), user, scope));
}

std::string name_of(const std::string& path) { return path == "/" ? path : path.substr(path.rfind('/') + 1); }

Result<std::string> inner_path(std::string_view name) {
  std::string path;
  for (const std::string& part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return fail(Code::Invalid, concat("the archive's entry '", name, "' leads out of the folder"));
    path += concat(path.empty() ? "" : "/", part);
  }
  return path;
}

Result<std::string> follow_links(View& view, std::string path) {
  for (int i = 0; i < kMostLinks; ++i) {
    Result<FileEntry> entry = view.stat(path, Links::Keep);
    if (!entry && entry.error().code() == Code::NotFound) return path;
    if (!entry) return fail(std::move(entry).error());
    if (!S_ISLNK(entry->mode)) return path;
    Result<std::string> target = view.readlink(path);
    if (!target) return fail(std::move(target).error());
    path = target->starts_with('/') ? *target : concat(folder_of(path), "/", *target);
  }
  return fail(Code::Invalid, concat("too many links at ", path));
}

std::string mode_text(uint64_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

Json entry_json(View& view, const FileEntry& entry, const std::string& path) {
  Json json = {{"name", name_of(path)},
               {"path", path},
               {"type", type_name(entry.mode)},
               {"size_bytes", entry.size},
               {"mode", mode_text(entry.mode)},
               {"mtime", format_time(static_cast<int64_t>(entry.mtime_ns / 1'000'000))},
               {"uid", entry.uid},
               {"gid", entry.gid}};
  if (!S_ISLNK(entry.mode)) return json;
  Result<std::string> target = view.readlink(path);
  json["target"] = target ? *target : "";
  return json;
}

void note_file(Call& call, const engine::Engine::FileLease& lease, const std::string& kind, Json data) {
  call.engine().note(call.caller, kind, lease.sandbox_id, "", dump(data));
}

}  // namespace cove::api
