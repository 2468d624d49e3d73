#pragma once

#include <span>

#include "base/result.h"
#include "store/database.h"

namespace cove {

// Takes a database from the version before to the next: place 0 of the list makes version 1 of an empty one.
using Migration = const char*;  // SQL

// The list that brings any database to the present version; only ever added to.
std::span<const Migration> migrations();

// How far it is along the list; 0 where it has nothing of ours.
Result<int64_t> version_of(Database& database);

// Brings the database to the end of the list, in one transaction, or leaves it as it was. Unsupported where it is newer
// than the list.
Result<void> migrate(Database& database, std::span<const Migration> list);

}  // namespace cove
