#include "base/text.h"
#include "cli/image_progress.h"
#include "cli/registry_login.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/words.h"
#include "client/problem.h"
#include "image/reference.h"

namespace cove::cli {
namespace {

struct PullOrder : CommonOrder {
  std::string platform;
  bool quiet = false;
};

constexpr Option<PullOrder> kOptions[] = {
    {{"platform", '\0', "OS/ARCH", "platform (default: this machine's), like linux/arm64", "Options"},
     [](PullOrder& order, const std::string& text) -> Result<void> {
       order.platform = text;
       return {};
     }},
    {{"quiet", 'q', "", "show no progress", "Options"},
     [](PullOrder& order, const std::string&) -> Result<void> {
       order.quiet = true;
       return {};
     }},
    kProjectOption<PullOrder>,
    kJsonOption<PullOrder>,
    kHelpOption<PullOrder>,
};

constexpr Form kForm = {
    .verb = "pull",
    .usage = "[OPTIONS] [REGISTRY/]NAME[:TAG|@DIGEST]",
    .text =
        "Pulls an image from a registry. Layers that were fetched before are not fetched again. Credentials of\n"
        "`docker login` or `podman login` are used. A name without a registry refers to Docker Hub (docker.io), or to\n"
        "the registry in the server's setting images.registry.",
    .least = 1,
    .most = 1,
    .more =
        "Examples:\n"
        "  cove pull python:3.12-slim\n"
        "  cove pull 127.0.0.1:5000/tools:1.2\n"
        "  cove run --image 127.0.0.1:5000/tools:1.2 -- make",
};

// For a name without a registry, the server's setting.
std::string registry_of(Api& api, const std::string& name) {
  Result<ImageReference> reference = parse_reference(name);
  if (!reference || !reference->registry.empty()) return reference ? reference->registry : "";
  Result<std::vector<Json>> settings = api.settings();
  if (!settings) return "";
  for (const Json& setting : *settings)
    if (client::text_of(setting, "name") == "images.registry") {
      std::string value = client::text_of(setting, "value");
      return value.substr(0, value.find('/'));
    }
  return "";
}

// Waits until the pull has ended.
Result<Json> follow(Api& api, const std::string& operation, PullDisplay& display) {
  client::EventStream stream = COVE_TRY(api.follow_operation(operation));
  while (true) {
    std::optional<client::ServerEvent> event = COVE_TRY(stream.next());
    if (!event)
      return fail(Error(Code::Unavailable, "the server closed the connection before the image was complete")
                      .hint("pull it again: it resumes where it stopped"));
    Json state = COVE_TRY(client::parse_json(event->data));
    display.draw(state);
    if (event->event != "end") continue;
    const Json& error = client::field(state, "error");
    if (!error.is_null()) return fail(client::read_problem(error, static_cast<int>(client::count_of(error, "status"))));
    return client::field(state, "result");
  }
}

Result<Json> pull_image(const PullOrder& order, const std::string& name) {
  Api api = COVE_TRY(open_server(order));
  Json body = {{"reference", name}};
  if (!order.platform.empty()) body["platform"] = order.platform;
  std::string registry = registry_of(api, name);
  Json login = registry.empty() ? Json() : COVE_TRY(find_registry_login(registry));
  if (!login.is_null()) body["login"] = std::move(login);
  Json operation = COVE_TRY(api.pull_image(body));
  PullDisplay display(order.quiet || order.json ? PullDisplay::Show::Never : PullDisplay::Show::AtTerminal);
  return follow(api, client::text_of(operation, "id"), display);
}

int pull(const Arguments& args) {
  auto words = read_words<PullOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Result<Json> image = pull_image(words->order, words->operands[0]);
  if (!image) return complain(image.error());
  for (const Json& note : client::field(*image, "notes"))
    if (note.is_string()) tell(note.get<std::string>());
  bool printed = words->order.json ? print_json(*image) : print(client::text_of(*image, "digest") + "\n");
  return printed ? 0 : kOwnFailure;
}

}  // namespace

Verb pull_verb() {
  return {"pull", "pull an image from a registry", pull, [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); }};
}

}  // namespace cove::cli
