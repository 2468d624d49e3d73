#include "base/text.h"
#include "cli/image.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/times.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

using client::text_of;

constexpr size_t kIdWidth = 12;

constexpr Option<CommonOrder> kOptions[] = {
    kProjectOption<CommonOrder>,
    kJsonOption<CommonOrder>,
    kHelpOption<CommonOrder>,
};

constexpr Form kForm = {
    .verb = "images",
    .usage = "[OPTIONS]",
    .text = "Lists images. `host` is this machine's own userland.",
};

std::string short_id(const std::string& digest) {
  return digest.substr(std::min(digest.find(':') + 1, digest.size()), kIdWidth);
}

std::string table_of(const std::vector<Json>& images) {
  Table table({"NAME", "ID", "SIZE", "LAYERS", "SANDBOXES", "AGE"});
  Time now = std::chrono::system_clock::now();
  for (const Json& image : images) {
    std::string digest = text_of(image, "digest");
    std::vector<std::string> names;
    for (const Json& name : client::field(image, "names"))
      if (name.is_string()) names.push_back(name.get<std::string>());
    if (names.empty()) names.push_back("-");
    for (const std::string& name : names)
      table.add({printable(name), digest.empty() ? "-" : printable(short_id(digest)),
                 digest.empty() ? "-" : format_bytes(client::count_of(image, "unpacked_size_bytes")),
                 digest.empty() ? "-" : std::to_string(client::field(image, "layers").size()),
                 digest.empty() ? "-" : std::to_string(client::count_of(image, "sandboxes")),
                 age(text_of(image, "stored_at"), now)});
  }
  return table.text();
}

int images(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  auto found = api->images();
  if (!found) return complain(found.error());
  return (words->order.json ? print_json(*found) : print(table_of(*found))) ? 0 : kOwnFailure;
}

}  // namespace

Verb images_verb() {
  return {"images", "list images", images, [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); }};
}

}  // namespace cove::cli
