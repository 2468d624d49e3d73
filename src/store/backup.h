#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "store/database.h"
#include "store/schema.h"

namespace cove {

// Where the database is older than the list of migrations, and not empty: copies it to PATH.backup-vN, N being its
// version, and removes all but the newest two of such copies. A copy has its name when all of it is on the disk.
Result<void> back_up_before_migration(Database& database, const std::string& path, std::span<const Migration> list);

}  // namespace cove
