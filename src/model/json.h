#pragma once

#include <string>

#include "base/json.h"
#include "model/diagnosis.h"
#include "model/exec.h"

namespace cove {

// The ExecResult as the API gives it, on one line or indented.
enum class JsonLayout { Line, Indented };
std::string to_json(const ExecResult& result, JsonLayout layout);

Json to_json(const Denial& denial);

// What `cove doctor --json` prints.
std::string to_json(const Diagnosis& diagnosis, JsonLayout layout);

}  // namespace cove
