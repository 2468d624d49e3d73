#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/id.h"
#include "base/text.h"
#include "cli/copy_target.h"
#include "cli/progress.h"
#include "cli/sandbox_options.h"
#include "cli/sandbox_path.h"
#include "cli/session.h"
#include "cli/words.h"
#include "client/pack.h"
#include "client/unpack.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

struct CpOrder : CommonOrder {
  std::string user;
  ProgressBar::Show progress = ProgressBar::Show::AtTerminal;
};

constexpr Option<CpOrder> kOptions[] = {
    {{"quiet", 'q', "", "show no progress", "Options"},
     [](CpOrder& order, Text) -> Result<void> {
       order.progress = ProgressBar::Show::Never;
       return {};
     }},
    {{"user", 'u', "USER", "the user inside (default: the sandbox's user)", "Options"},
     [](CpOrder& order, Text text) { return assign(order.user, parse_user(text)); }},
    kProjectOption<CpOrder>,
    kHelpOption<CpOrder>,
};

constexpr Form kForm = {
    .verb = "cp",
    .usage = "[OPTIONS] SANDBOX:SRC DST|-\n[OPTIONS] SRC|- SANDBOX:DST",
    .text =
        "Copies a file or a folder out of a sandbox, or into one. Inside, a path is absolute or relative to the\n"
        "user's home. If DST is an existing folder, the copy is placed in it; SRC/. stands for a folder's contents.\n"
        "When copying out, links that lead out of the copied folder are skipped.\n\n"
        "- is standard output or input: a file as it is, a folder as a tar archive. Standard input is unpacked if DST\n"
        "is an existing folder or ends with /.",
    .least = 2,
    .most = 2,
    .more =
        "Examples:\n"
        "  cove cp box:results/plot.png .\n"
        "  cove cp src box:/home/user/src\n"
        "  cove cp box:project - | tar tv",
};

void warn(const std::string& path, const std::string& why) { tell(concat("left out ", path, ": ", why)); }

// Follows symbolic links.
Result<Kind> remote_kind(Api& api, const client::Place& place) {
  Result<Json> entry = api.entry(place);
  if (!entry && entry.error().code() == Code::NotFound) return Kind::Nothing;
  if (!entry) return fail(std::move(entry).error());
  std::string type = client::text_of(*entry, "type");
  if (type == "symlink") {
    Result<Json> target = api.entry({place.sandbox, below(place.path, "."), place.user});
    if (target) type = client::text_of(*target, "type");
  }
  return type == "directory" ? Kind::Folder : Kind::File;
}

Result<Kind> local_kind(const std::string& path) {
  Result<struct stat> info = sys::stat(path);
  if (!info && info.error().code() == Code::NotFound) return Kind::Nothing;
  if (!info) return fail(std::move(info).error());
  return S_ISDIR(info->st_mode) ? Kind::Folder : Kind::File;
}

std::string octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", mode & 0777);
  return text;
}

// --- into a sandbox
// ---------------------------------------------------------------------------------------------------

Result<void> send_file(Api& api, const CpOrder& order, const std::string& source, const client::Place& target) {
  UniqueFd file = COVE_TRY(sys::open(source, O_RDONLY));
  struct stat info = COVE_TRY(sys::fstat(file.get()));
  client::Upload upload;
  upload.file = file.get();
  if (S_ISREG(info.st_mode)) upload.size = static_cast<uint64_t>(info.st_size);
  upload.mode = octal(info.st_mode);
  ProgressBar bar(base_name(source), upload.size, order.progress);
  upload.progress = bar.progress();
  COVE_TRY_NOTE(concat("copy ", source), api.upload(target, upload));
  return {};
}

Result<void> send_folder(Api& api, const CpOrder& order, const std::string& source, const std::string& name,
                         const client::Place& target) {
  ProgressBar bar(base_name(source), std::nullopt, order.progress);
  auto produce = [&](client::BodyWriter& body) -> Result<void> {
    auto archive = COVE_TRY(client::archive_to(body));
    COVE_TRY(client::pack(archive, source, name.empty() ? "." : name, warn));
    return archive.finish();
  };
  COVE_TRY_NOTE(concat("copy ", source), api.unpack(target, produce, bar.progress()));
  return {};
}

// As it is, or as tar if the target is a folder.
Result<void> send_input(Api& api, const CpOrder& order, const client::Place& target) {
  ProgressBar bar("standard input", std::nullopt, order.progress);
  bool folder = target.path.ends_with('/') || COVE_TRY(remote_kind(api, target)) == Kind::Folder;
  if (folder) {
    auto produce = [](client::BodyWriter& body) { return body.write_rest(STDIN_FILENO); };
    COVE_TRY(api.unpack(target, produce, bar.progress()));
    return {};
  }
  client::Upload upload;
  upload.file = STDIN_FILENO;
  upload.progress = bar.progress();
  COVE_TRY(api.upload(target, upload));
  return {};
}

Result<void> copy_in(Api& api, const CpOrder& order, const std::string& source, const client::Place& target) {
  if (source == "-") return send_input(api, order, target);
  Kind kind = COVE_TRY(local_kind(source));
  if (kind == Kind::Nothing) COVE_TRY(sys::stat(source));
  CopyTarget copy_target = COVE_TRY(find_copy_target(kind, source, COVE_TRY(remote_kind(api, target)), target.path));
  if (kind == Kind::File) return send_file(api, order, source, {target.sandbox, copy_target.path(), target.user});
  return send_folder(api, order, source, copy_target.name, {target.sandbox, copy_target.folder, target.user});
}

// --- out of a sandbox
// -------------------------------------------------------------------------------------------------

// The mode that the file has inside, as far as this user's umask allows.
mode_t mode_of(const client::ResponseHead& head) {
  std::string mode(head.header("cove-mode"));
  return mode.empty() ? 0644 : static_cast<mode_t>(std::strtoul(mode.c_str(), nullptr, 8) & 0777);
}

// Written to a temporary file and renamed when complete; a device or a FIFO is written to directly.
Result<void> receive_file(Api& api, const CpOrder& order, const client::Place& source, const CopyTarget& copy_target) {
  std::string path = copy_target.path();
  client::ResponseHead head = COVE_TRY(api.open_file(source));
  ProgressBar bar(base_name(source.path), api.body().length(), order.progress);
  Result<struct stat> there = sys::stat(path);
  if (there && !S_ISREG(there->st_mode)) {
    UniqueFd file = COVE_TRY(sys::open(path, O_WRONLY));
    COVE_TRY(api.body().copy_to(file.get(), bar.progress()));
    return {};
  }
  std::string beside = below(copy_target.folder, concat(".", copy_target.name.substr(0, 200), ".", make_id()));
  UniqueFd file = COVE_TRY(sys::open(beside, O_WRONLY | O_CREAT | O_EXCL, mode_of(head)));
  Result<uint64_t> copied = api.body().copy_to(file.get(), bar.progress());
  Result<void> moved = copied ? sys::rename(beside, path) : fail(std::move(copied).error());
  if (!moved) ::unlink(beside.c_str());
  return moved;
}

Result<void> receive_folder(Api& api, const CpOrder& order, const client::Place& source, const std::string& target) {
  COVE_TRY(sys::make_folders(target));
  UniqueFd folder = COVE_TRY(sys::open(target, O_RDONLY | O_DIRECTORY));
  COVE_TRY(api.open_archive(source));
  ProgressBar bar(base_name(source.path), std::nullopt, order.progress);
  auto archive = [&](std::span<char> buffer) { return api.body().read(buffer.data(), buffer.size()); };
  COVE_TRY_NOTE(concat("copy ", source.path), client::unpack(archive, folder.get(), warn, bar.progress()));
  return {};
}

Result<void> send_to_output(Api& api, Kind kind, const client::Place& source) {
  if (kind == Kind::Folder)
    COVE_TRY(api.open_archive(source));
  else
    COVE_TRY(api.open_file(source));
  COVE_TRY(api.body().copy_to(STDOUT_FILENO, {}));
  return {};
}

Result<void> copy_out(Api& api, const CpOrder& order, const client::Place& source, const std::string& target) {
  Kind kind = COVE_TRY(remote_kind(api, source));
  if (kind == Kind::Nothing) return fail(Code::NotFound, concat("no such file in ", source.sandbox, ": ", source.path));
  if (target == "-") return send_to_output(api, kind, source);
  CopyTarget copy_target = COVE_TRY(find_copy_target(kind, source.path, COVE_TRY(local_kind(target)), target));
  if (kind == Kind::File) return receive_file(api, order, source, copy_target);
  return receive_folder(api, order, source, copy_target.path());
}

Result<void> copy(const CpOrder& order, const std::string& from, const std::string& to) {
  PathWord source = parse_path_word(from), target = parse_path_word(to);
  if (source.sandbox.empty() == target.sandbox.empty())
    return fail(
        Error(Code::Invalid, source.sandbox.empty() ? "neither path is in a sandbox" : "both paths are in sandboxes")
            .hint("write one of them as SANDBOX:PATH"));
  Api api = COVE_TRY(open_server(order));
  if (source.sandbox.empty()) return copy_in(api, order, source.path, {target.sandbox, target.path, order.user});
  return copy_out(api, order, {source.sandbox, source.path, order.user}, target.path);
}

int cp(const Arguments& args) {
  auto words = read_words<CpOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto copied = copy(words->order, words->operands[0], words->operands[1]);
  return copied ? 0 : complain(copied.error());
}

}  // namespace

Verb cp_verb() {
  return {"cp",
          "copy files and folders in and out",
          cp,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::SandboxPaths};
}

}  // namespace cove::cli
