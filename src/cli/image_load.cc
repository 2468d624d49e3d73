#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/image.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/words.h"
#include "client/pack.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

struct ArchiveOrder : CommonOrder {
  bool quiet = false;
};

constexpr Option<ArchiveOrder> kOptions[] = {
    {{"quiet", 'q', "", "show no progress", "Options"},
     [](ArchiveOrder& order, const std::string&) -> Result<void> {
       order.quiet = true;
       return {};
     }},
    kProjectOption<ArchiveOrder>,
    kJsonOption<ArchiveOrder>,
    kHelpOption<ArchiveOrder>,
};

constexpr Form kLoadForm = {
    .verb = "image load",
    .usage = "[OPTIONS] FILE|FOLDER|-",
    .text =
        "Loads images from an archive: what `docker save` writes, or an OCI layout, as a tar archive or a folder.\n"
        "- is standard input. Prints their names.",
    .least = 1,
    .most = 1,
};

constexpr Form kImportForm = {
    .verb = "image import",
    .usage = "[OPTIONS] FILE|FOLDER|- NAME[:TAG]",
    .text =
        "Creates an image from a root file system: a folder, or a tar archive (also compressed with gzip or zstd).\n"
        "- is standard input. All files of a folder become owned by root.",
    .least = 2,
    .most = 2,
    .more = "Examples:\n  mmdebstrap bookworm - | cove image import - debian:12",
};

enum class Kind { Images, Root };

// Checked before the contents of an unrelated folder are sent.
Result<void> check_layout(const std::string& folder) {
  for (const char* name : {"index.json", "manifest.json"})
    if (sys::stat(concat(folder, "/", name))) return {};
  return fail(Error(Code::Invalid, "the folder is not an OCI layout: it has no index.json")
                  .hint(concat("cove image import ", folder, " NAME creates an image from a root file system")));
}

// The archive as the body of a request: a file as it is, a folder packed.
Result<std::function<Result<void>(client::BodyWriter&)>> archive_of(Kind kind, const std::string& path, UniqueFd& file,
                                                                    std::optional<uint64_t>& size) {
  if (path == "-") return [](client::BodyWriter& body) { return body.write_rest(STDIN_FILENO); };
  struct stat info = COVE_TRY(sys::stat(path));
  if (S_ISDIR(info.st_mode)) {
    if (kind == Kind::Images) COVE_TRY(check_layout(path));
    return [path](client::BodyWriter& body) -> Result<void> {
      auto left_out = [](const std::string& what, const std::string& why) {
        tell(concat("left out ", what, ": ", why));
      };
      auto archive = COVE_TRY(client::archive_to(body));
      COVE_TRY(client::pack(archive, path, ".", left_out));
      return archive.finish();
    };
  }
  file = COVE_TRY(sys::open(path, O_RDONLY));
  if (S_ISREG(info.st_mode)) size = static_cast<uint64_t>(info.st_size);
  return [&file](client::BodyWriter& body) { return body.write_rest(file.get()); };
}

Result<Json> send(const ArchiveOrder& order, const std::string& path, const std::string& name) {
  const std::string attempt = concat(name.empty() ? "load " : "import ", path == "-" ? "standard input" : path);
  UniqueFd file;
  std::optional<uint64_t> size;
  auto produce = COVE_TRY_NOTE(attempt, archive_of(name.empty() ? Kind::Images : Kind::Root, path, file, size));
  Api api = COVE_TRY(open_server(order));
  ProgressBar bar(path, size, order.quiet ? ProgressBar::Show::Never : ProgressBar::Show::AtTerminal);
  if (name.empty()) return COVE_TRY_NOTE(attempt, api.load_images(produce, bar.progress()));
  return COVE_TRY_NOTE(attempt, api.import_image(name, produce, bar.progress()));
}

bool print_names(const Json& image) {
  for (const Json& note : client::field(image, "notes"))
    if (note.is_string()) tell(note.get<std::string>());
  std::string names;
  for (const Json& name : client::field(image, "names"))
    if (name.is_string()) names += printable(name.get<std::string>()) + "\n";
  return print(names.empty() ? printable(client::text_of(image, "name")) + "\n" : names);
}

int load(const Arguments& args) {
  auto words = read_words<ArchiveOrder>(kLoadForm, kOptions, args);
  if (!words) return words.error();
  Result<Json> loaded = send(words->order, words->operands[0], "");
  if (!loaded) return complain(loaded.error());
  if (words->order.json) return print_json(*loaded) ? 0 : kOwnFailure;
  for (const Json& image : client::field(*loaded, "items"))
    if (!print_names(image)) return kOwnFailure;
  return 0;
}

int import(const Arguments& args) {
  auto words = read_words<ArchiveOrder>(kImportForm, kOptions, args);
  if (!words) return words.error();
  Result<Json> image = send(words->order, words->operands[0], words->operands[1]);
  if (!image) return complain(image.error());
  return (words->order.json ? print_json(*image) : print_names(*image)) ? 0 : kOwnFailure;
}

}  // namespace

Verb image_load_verb() {
  return {"load",
          "load images from an archive",
          load,
          [] { return form_help(kLoadForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Files};
}

Verb image_import_verb() {
  return {"import",
          "create an image from a root file system",
          import,
          [] { return form_help(kImportForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Files};
}

}  // namespace cove::cli
