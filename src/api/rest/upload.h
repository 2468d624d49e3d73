#pragma once

#include <cerrno>
#include <string>

#include "api/rest/problem.h"
#include "base/unique_fd.h"

// Bodies of any length, received into a file.
namespace cove::api {

struct Call;

struct Upload {
  UniqueFd file;       // without a name, at its beginning
  std::string digest;  // SHA-256, hexadecimal
};
Checked<Upload> receive_upload(Call& call);

// What is in the way is not the image's fault, and mended elsewhere.
template <typename T>
Result<T> with_advice(Result<T> done) {
  if (done || done.error().errnum() != ENOSPC) return done;
  return fail(
      std::move(done.error())
          .hint("make room where the server's state folder is; `cove image prune --all` removes what no sandbox uses"));
}

}  // namespace cove::api
