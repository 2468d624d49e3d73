#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/words.h"
#include "client/api.h"
#include "client/server.h"

// Talking to the server, as most verbs do.
namespace cove::cli {

using client::Api;
// The server that this command is for; the per-user one is started where it is not there.
Result<Api> open_server(const CommonOrder& order, client::WhenAbsent when_absent = client::WhenAbsent::Start);

// The same for a command that looks itself, after its first request, whether the server is an old one.
Result<Api> connect_server(client::WhenAbsent when_absent);

// To standard output: on one line, or indented at a terminal.
bool print_json(const Json& json);

// What was listed: the ids with --quiet, the JSON, or else a table. The exit code.
enum class ListForm { Ids, Documents, Table };
ListForm list_form(bool quiet, bool json);
int print_list(const std::vector<Json>& items, ListForm form, std::string (*table_of)(const std::vector<Json>& items));

// Does `act` for each name (of a sandbox, of a key), whatever becomes of the others, and prints the name as it was
// given, or with --json what came of it. The exit code.
using NameAct = std::function<Result<Json>(Api& api, const std::string& name)>;
int for_each_name(const CommonOrder& order, const std::vector<std::string>& names, const NameAct& act);

// Prints what `find` finds for each name, as JSON; of several, as a list. The exit code.
int inspect_each(const CommonOrder& order, const std::vector<std::string>& names, const NameAct& find);

// The exec that a word names: an id, or a tag (then the newest one with it). Without a word the newest of all.
Result<Json> find_exec(Api& api, const std::string& sandbox, const std::string& word);
// Of at least one.
Json newest_of(const std::vector<Json>& execs);

}  // namespace cove::cli
