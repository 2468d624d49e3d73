#pragma once

#include <string>

#include "base/result.h"
#include "base/wire.h"

// Errors that travel from the builder of the walls to whoever asked for them.
namespace cove {

inline std::string encode_error(const Error& error) {
  wire::Writer out;
  out.number(static_cast<uint64_t>(error.code())).number(static_cast<uint64_t>(error.errnum()));
  out.text(error.what()).texts(error.notes()).text(error.hint());
  return out.data();
}

inline Error decode_error(std::string_view data) {
  wire::Reader in(data);
  auto code = static_cast<Code>(in.number());
  auto errnum = static_cast<int>(in.number());
  std::string what = in.text();
  Error error = errnum ? Error::from_errno(errnum, std::move(what)).as(code) : Error(code, std::move(what));
  for (std::string& note : in.texts()) static_cast<void>(std::move(error).note(std::move(note)));
  static_cast<void>(std::move(error).hint(in.text()));
  if (!in.done()) return Error(Code::Internal, "the builder of the sandbox sent nonsense");
  return error;
}

}  // namespace cove
