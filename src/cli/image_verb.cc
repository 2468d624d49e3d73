#include "cli/image.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

std::span<const Verb> parts() {
  static const Verb kParts[] = {image_load_verb(), image_import_verb(), image_inspect_verb(), image_tag_verb(),
                                image_rm_verb(),   image_prune_verb(),  image_verify_verb()};
  return kParts;
}

std::string image_help() {
  return parts_help(
      image_verb(),
      "Manages images, from which sandboxes are created: `host`, this machine's own userland, and images that are\n"
      "pulled (cove pull), loaded or imported. cove images lists them; cove run --image NAME uses one.");
}

// Other programs have `image ls` and `image pull`; here these are top-level verbs, so both forms work.
int act(const Arguments& args) {
  const std::string word = args.empty() ? "" : args[0];
  if (word != "ls" && word != "list" && word != "pull") return act_on_part(image_verb(), args);
  return (word == "pull" ? pull_verb() : images_verb()).act(Arguments(args.begin() + 1, args.end()));
}

}  // namespace

Verb image_verb() {
  return {"image",    "load, import, name, check and remove images", act,
          image_help, [] { return std::vector<OptionInfo>(); },      Completes::Nothing,
          parts};
}

}  // namespace cove::cli
