#pragma once

#include "cli/verbs.h"

// The verbs behind `cove image`.
namespace cove::cli {

Verb image_load_verb();
Verb image_import_verb();
Verb image_inspect_verb();
Verb image_rm_verb();
Verb image_prune_verb();
Verb image_tag_verb();
Verb image_verify_verb();

}  // namespace cove::cli
