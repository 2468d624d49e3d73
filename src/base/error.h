#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cove {

// What kind of failure it is; each maps to an HTTP status and to `cove`'s own exit code.
enum class Code {
  Invalid,      // the caller asked for something that makes no sense
  NotFound,     // the thing named does not exist
  Exists,       // the thing to be made is there already
  Conflict,     // its state does not allow it
  Denied,       // the caller, or Cove itself, may not
  Unsupported,  // this machine or this runtime cannot do it
  Exhausted,    // no room: a limit of the machine or of the configuration
  Unavailable,  // it could work later: the other side is gone or busy
  Internal,     // Cove is at fault
};

// Why something that Cove itself attempted failed. What happened to the user's program
// (exit code, signal, out of memory) is never an Error.
//
//   limit memory of sandbox k3…: write memory.max: Permission denied
//   └ note added by a caller     └ what()          └ errno
class Error {
 public:
  Error(Code code, std::string what) : code_(code), what_(std::move(what)) {}
  // A failed system call: `what` names the call and the object.
  static Error from_errno(int errnum, std::string what);

  // Puts `attempt` in front of the message.
  Error&& note(std::string attempt) &&;
  // What a person can do about it.
  Error&& hint(std::string advice) &&;
  Error&& as(Code code) &&;
  // Which field of the request is at fault, as a JSON pointer (RFC 6901): "/limits/memory".
  Error&& at(std::string pointer) &&;

  Code code() const { return code_; }
  int errnum() const { return errnum_; }
  const std::string& what() const { return what_; }
  const std::string& hint() const { return hint_; }
  const std::string& pointer() const { return pointer_; }  // empty where no field is
  const std::vector<std::string>& notes() const { return notes_; }
  // Notes, what and errno in one line, without the hint.
  std::string message() const;

 private:
  Code code_;
  int errnum_ = 0;
  std::string what_;
  std::vector<std::string> notes_;
  std::string hint_;
  std::string pointer_;
};

// The stable name of a code, as in `code` of a problem document: "not_found".
std::string_view code_name(Code code);

}  // namespace cove
