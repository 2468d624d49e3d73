#pragma once

#include <string>

#include "api/rest/call.h"
#include "api/rest/response_json.h"
#include "runtime/view.h"

// Files of a sandbox, as requests name them.
namespace cove::api {

// A lease of the sandbox's files, for the user that the request names.
Checked<engine::Engine::FileLease> lease_files(Call& call, Scope scope);

// The path as people are told it: absolute. A relative one is relative to the user's home, where the view stands.
std::string absolute_path(View& view, const std::string& path);
// Without changing what it means to the kernel: "//a/./b/" → "/a/b", but ".." stays.
std::string tidy_path(std::string_view path);
// "/a/b" → "/a"; "/a" → "/"; "a" → ".".
std::string folder_of(const std::string& path);
std::string name_of(const std::string& path);  // the last part; "/" of "/"
// The name of an archive's entry as a path below the folder that it is unpacked into: without leading slashes and dots;
// empty for the folder itself. Invalid where it would lead out of it.
Result<std::string> inner_path(std::string_view name);

// Where a path comes to when it and what it points at are links; what it names need not exist.
Result<std::string> follow_links(View& view, std::string path);

// The entry as the API gives it. `path` is absolute.
Json entry_json(View& view, const FileEntry& entry, const std::string& path);
std::string mode_text(uint64_t mode);  // "0644"

// Tells the event stream what was done to a file.
void note_file(Call& call, const engine::Engine::FileLease& lease, const std::string& kind, Json data);

}  // namespace cove::api
