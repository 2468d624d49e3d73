#pragma once

#include "store/database.h"
#include "store/records.h"

namespace cove {

// Within a transaction. Exists where the project has used the key.
Result<void> insert_idempotency(Database& database, const Idempotency& entry);

}  // namespace cove
