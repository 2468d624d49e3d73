#pragma once

#include "base/result.h"
#include "store/database.h"
#include "store/records.h"

namespace cove {

// Within the caller's transaction.
Result<void> insert_usage(Database& database, const UsageRecord& usage);

}  // namespace cove
