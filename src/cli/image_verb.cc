#include "cli/image.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

// A verb of its own that people also look for here.
Verb called(std::string_view name, Verb verb) {
  verb.name = name;
  return verb;
}

std::span<const Verb> parts() {
  static const Verb kParts[] = {called("ls", images_verb()), pull_verb(),      image_load_verb(), image_import_verb(),
                                image_inspect_verb(),        image_tag_verb(), image_rm_verb(),   image_prune_verb(),
                                image_verify_verb()};
  return kParts;
}

std::string image_help() {
  return parts_help(
      image_verb(),
      "Images are what sandboxes are made of: `host`, this machine's own userland, and those that are pulled\n"
      "(cove pull), loaded or imported. cove images lists them, as ls does; cove run --image NAME uses one.");
}

}  // namespace

Verb image_verb() {
  return {"image",
          "list, pull, load, import, name, check and remove images",
          [](const Arguments& args) { return act_on_part(image_verb(), args); },
          image_help,
          [] { return std::vector<OptionInfo>(); },
          Completes::Nothing,
          parts};
}

}  // namespace cove::cli
