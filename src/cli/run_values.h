#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "model/sandbox.h"
#include "run/run_once.h"

// Parses the values of `cove run`'s options, with one function for each form.
namespace cove::cli {

// "KEY=VALUE", or "KEY" to copy the variable from this process's environment (nothing is added if it is not set).
Result<void> add_variable(Environment& environment, const std::string& text);
// Reads such lines from a file; empty lines and lines that begin with # are skipped.
Result<void> add_variables_of_file(Environment& environment, const std::string& path);
// Replaces a variable of the same name.
void set_variable(Environment& environment, const std::string& name, const std::string& value);

// "KEY=VALUE" or "KEY".
Result<std::pair<std::string, std::string>> parse_label(const std::string& text);
// [a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}
Result<std::string> parse_name(const std::string& text);
// "NAME", "UID" or "UID:GID".
Result<std::string> parse_user(const std::string& text);
// "host" or "host@" and a fingerprint.
Result<std::string> parse_image(const std::string& text);
// "PATH", "PATH:ro" or "PATH:rw": an existing folder, made absolute. Read-only by default.
Result<Workspace> parse_workspace(const std::string& text);
// "SRC" or "SRC:DST"; SRC exists.
Result<CopyIn> parse_copy_in(const std::string& text);
// "GLOB" or "GLOB:DIR".
Result<CopyOut> parse_copy_out(const std::string& text);
// "nofile=N".
Result<uint64_t> parse_ulimit(const std::string& text);
// An absolute path inside.
Result<std::string> parse_workdir(const std::string& text);

}  // namespace cove::cli
