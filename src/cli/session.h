#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/words.h"
#include "client/api.h"
#include "client/server.h"

// The client session that most verbs use to call the server.
namespace cove::cli {

using client::Api;
// Connects to the server for this command; starts the per-user server if it is not running.
Result<Api> open_server(const CommonOrder& order, client::WhenAbsent when_absent = client::WhenAbsent::Start);

// The same for a command that checks itself, after its first request, whether the server is outdated.
Result<Api> connect_server(client::WhenAbsent when_absent);

// Prints to standard output: on one line, or indented on a terminal.
bool print_json(const Json& json);

// Prints a list: the ids with --quiet, JSON, or a table. Returns the exit code.
enum class ListForm { Ids, Documents, Table };
ListForm list_form(bool quiet, bool json);
int print_list(const std::vector<Json>& items, ListForm form, std::string (*table_of)(const std::vector<Json>& items));

// Calls `act` for each name (of a sandbox, of a key), even if others fail, and prints the name as given, or with --json
// the result. Returns the exit code.
using NameAct = std::function<Result<Json>(Api& api, const std::string& name)>;
int for_each_name(const CommonOrder& order, const std::vector<std::string>& names, const NameAct& act);

// Prints the result of `find` for each name as JSON; for several names, as a list. Returns the exit code.
int inspect_each(const CommonOrder& order, const std::vector<std::string>& names, const NameAct& find);

// Finds an exec by its id or its tag (the newest with that tag). Without a word, the newest of all.
Result<Json> find_exec(Api& api, const std::string& sandbox, const std::string& word);
// The newest of a list that is not empty.
Json newest_of(const std::vector<Json>& execs);

}  // namespace cove::cli
