#pragma once

#include "cli/words.h"

// The verbs behind `cove session`.
namespace cove::cli {

Verb session_start_verb();
Verb session_ls_verb();
Verb session_exec_verb();
Verb session_inspect_verb();
Verb session_end_verb();

}  // namespace cove::cli
