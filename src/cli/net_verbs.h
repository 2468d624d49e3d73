#pragma once

#include "cli/words.h"

// The verbs behind `cove net`.
namespace cove::cli {

Verb net_show_verb();
Verb net_check_verb();
Verb net_log_verb();
Verb net_allow_verb();
Verb net_block_verb();
Verb net_requests_verb();
Verb net_learn_verb();
Verb net_groups_verb();

}  // namespace cove::cli
