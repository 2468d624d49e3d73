#include "base/text.h"
#include "cli/session.h"
#include "cli/words.h"
#include "client/autostart.h"

namespace cove::cli {
namespace {

constexpr Option<CommonOrder> kOptions[] = {kHelpOption<CommonOrder>};

constexpr Form kForm = {
    .verb = "stop-server",
    .usage = "",
    .text =
        "Stops your server, or the one at COVE_HOST=unix:PATH, and waits until it has ended. Its sandboxes keep\n"
        "running; the next server takes them over.",
};

Result<bool> stop() {
  client::ServerChoice choice = COVE_TRY(client::find_server());
  if (choice.address.kind != client::Address::Kind::Unix)
    return fail(Error(Code::Unsupported, concat("cannot stop the server at ", to_text(choice.address)))
                    .hint("only a server with a Unix socket on this machine can be stopped this way"));
  client::Http http(choice.address, choice.identity);
  Result<void> connected = http.connect();
  if (!connected && connected.error().code() == Code::Unavailable) return false;
  COVE_TRY(std::move(connected));
  COVE_TRY(client::stop_server(COVE_TRY(http.peer())));
  return true;
}

int stop_server(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Result<bool> stopped = stop();
  if (!stopped) return complain(stopped.error());
  if (!*stopped) tell("no server is running");
  return 0;
}

}  // namespace

Verb stop_server_verb() {
  return {"stop-server", "stop the server", stop_server, [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); }};
}

}  // namespace cove::cli
