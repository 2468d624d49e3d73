#include "base/text.h"
#include "cli/image.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

struct ForceOrder : CommonOrder {
  bool force = false;
};
struct AllOrder : CommonOrder {
  bool all = false;
};

constexpr Option<CommonOrder> kOptions[] = {
    kProjectOption<CommonOrder>,
    kJsonOption<CommonOrder>,
    kHelpOption<CommonOrder>,
};
constexpr Option<ForceOrder> kRmOptions[] = {
    {{"force", 'f', "", "even if sandboxes use it: it loses its names, and is removed\nwhen it is no longer used",
      "Options"},
     [](ForceOrder& order, const std::string&) -> Result<void> {
       order.force = true;
       return {};
     }},
    kProjectOption<ForceOrder>,
    kJsonOption<ForceOrder>,
    kHelpOption<ForceOrder>,
};
constexpr Option<AllOrder> kPruneOptions[] = {
    {{"all", 'a', "", "also remove images that have a name", "Options"},
     [](AllOrder& order, const std::string&) -> Result<void> {
       order.all = true;
       return {};
     }},
    kProjectOption<AllOrder>,
    kJsonOption<AllOrder>,
    kHelpOption<AllOrder>,
};
constexpr Option<AllOrder> kVerifyOptions[] = {
    {{"all", 'a', "", "verify every image", "Options"},
     [](AllOrder& order, const std::string&) -> Result<void> {
       order.all = true;
       return {};
     }},
    kProjectOption<AllOrder>,
    kJsonOption<AllOrder>,
    kHelpOption<AllOrder>,
};

constexpr Form kInspectForm = {
    .verb = "image inspect",
    .usage = "[OPTIONS] IMAGE…",
    .text = "Prints the details of an image as JSON; of several images, as a list.",
    .least = 1,
    .most = kMany,
};
constexpr Form kTagForm = {
    .verb = "image tag",
    .usage = "[OPTIONS] IMAGE NAME[:TAG]",
    .text = "Gives an image another name. If another image has that name, it loses it.",
    .least = 2,
    .most = 2,
};
constexpr Form kRmForm = {
    .verb = "image rm",
    .usage = "[OPTIONS] IMAGE…",
    .text = "Removes names from images. An image without a name is removed, unless sandboxes use it.",
    .least = 1,
    .most = kMany,
};
constexpr Form kPruneForm = {
    .verb = "image prune",
    .usage = "[OPTIONS]",
    .text = "Removes images that have no name and are not used by a sandbox, and leftovers of incomplete pulls.",
};
constexpr Form kVerifyForm = {
    .verb = "image verify",
    .usage = "[OPTIONS] IMAGE…",
    .text = "Checks that every file of an image is still as it was unpacked.",
    .least = 0,
    .most = kMany,
};

int inspect(const Arguments& args) {
  auto words = read_words<CommonOrder>(kInspectForm, kOptions, args);
  if (!words) return words.error();
  return inspect_each(words->order, words->operands, [](Api& api, const std::string& name) { return api.image(name); });
}

int tag(const Arguments& args) {
  auto words = read_words<CommonOrder>(kTagForm, kOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  Result<Json> image = api->tag_image(words->operands[0], words->operands[1]);
  if (!image) return complain(image.error());
  return (words->order.json ? print_json(*image) : print(words->operands[1] + "\n")) ? 0 : kOwnFailure;
}

int rm(const Arguments& args) {
  auto words = read_words<ForceOrder>(kRmForm, kRmOptions, args);
  if (!words) return words.error();
  return for_each_name(words->order, words->operands,
                       [&](Api& api, const std::string& image) { return api.remove_image(image, words->order.force); });
}

int prune(const Arguments& args) {
  auto words = read_words<AllOrder>(kPruneForm, kPruneOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  Result<Json> removed = api->prune_images(words->order.all);
  if (!removed) return complain(removed.error());
  if (words->order.json) return print_json(*removed) ? 0 : kOwnFailure;
  size_t count = client::field(*removed, "digests").size();
  return print(concat(count, count == 1 ? " image, " : " images, ",
                      format_bytes(client::count_of(*removed, "freed_bytes")), "\n"))
             ? 0
             : kOwnFailure;
}

Result<std::vector<std::string>> images_to_verify(Api& api, const Words<AllOrder>& words) {
  if (!words.order.all) return words.operands;
  std::vector<std::string> digests;
  for (const Json& image : COVE_TRY(api.images()))
    if (std::string digest = client::text_of(image, "digest"); !digest.empty()) digests.push_back(digest);
  return digests;
}

int verify(const Arguments& args) {
  auto words = read_words<AllOrder>(kVerifyForm, kVerifyOptions, args);
  if (!words) return words.error();
  if (!words->order.all && words->operands.empty())
    return complain(Error(Code::Invalid, "no image to verify").hint("name images, or use --all"));
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  auto names = images_to_verify(*api, *words);
  if (!names) return complain(names.error());
  int exit_code = 0;
  for (const std::string& name : *names) {
    Result<Json> answer = api->verify_image(name);
    if (!answer) {
      exit_code = complain(answer.error());
      continue;
    }
    const bool ok = client::flag_of(*answer, "ok");
    if (!ok) exit_code = 1;
    std::string text = words->order.json ? client::dump(*answer) : concat(printable(name), ok ? ": ok" : ": damaged");
    for (const Json& problem : client::field(*answer, "problems"))
      if (!words->order.json && problem.is_string()) text += concat("\n  ", printable(problem.get<std::string>()));
    if (!ok && !words->order.json)
      text += concat("\n  to fix it: cove image rm ", printable(name), ", and pull or load it again");
    if (!print(text + "\n")) return kOwnFailure;
  }
  return exit_code;
}

}  // namespace

Verb image_inspect_verb() {
  return {"inspect", "show the details of an image", inspect,
          [] { return form_help(kInspectForm, option_infos(kOptions)); }, [] { return option_infos(kOptions); }};
}
Verb image_tag_verb() {
  return {"tag", "give an image another name", tag, [] { return form_help(kTagForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); }};
}
Verb image_rm_verb() {
  return {"rm", "remove images", rm, [] { return form_help(kRmForm, option_infos(kRmOptions)); },
          [] { return option_infos(kRmOptions); }};
}
Verb image_prune_verb() {
  return {"prune", "remove unused images", prune, [] { return form_help(kPruneForm, option_infos(kPruneOptions)); },
          [] { return option_infos(kPruneOptions); }};
}
Verb image_verify_verb() {
  return {"verify", "check that images are undamaged", verify,
          [] { return form_help(kVerifyForm, option_infos(kVerifyOptions)); },
          [] { return option_infos(kVerifyOptions); }};
}

}  // namespace cove::cli
