#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/sandbox_options.h"
#include "cli/sandbox_path.h"
#include "cli/session.h"
#include "cli/words.h"

// The verbs behind `cove fs`.
namespace cove::cli {

Verb fs_ls_verb();
Verb fs_cat_verb();
Verb fs_stat_verb();
Verb fs_mkdir_verb();
Verb fs_mv_verb();
Verb fs_rm_verb();
Verb fs_chmod_verb();
Verb fs_watch_verb();

struct FsOrder : CommonOrder {
  std::string user;
};

template <typename T>
inline constexpr Option<T> kFileUserOption = {
    {"user", 'u', "USER", "the user inside (default: the sandbox's user)", "Other"},
    [](T& order, Text text) { return assign(order.user, parse_user(text)); }};

Result<client::Place> place_of(const FsOrder& order, const std::string& text);

// Calls `act` for each SANDBOX:PATH, even if others fail. Returns the exit code.
using PlaceAct = std::function<Result<void>(Api& api, const client::Place& place)>;
int for_each_place(const FsOrder& order, const std::vector<std::string>& words, const PlaceAct& act);

}  // namespace cove::cli
