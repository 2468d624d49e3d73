#pragma once

#include "store/records.h"

namespace cove {

// The statement that reads the events of a filter by the index that leaves out most: of a sandbox, of a session, else
// of the project. Its values: ?1 after, ?2 up to (both numbers), ?3 project, ?4 limit, ?5 sandbox, ?6 since, ?7 until,
// ?8 kinds between commas, ?9 session, ?10 agent; an empty text or 0 leaves nothing out.
const char* event_query(const EventFilter& filter);

}  // namespace cove
