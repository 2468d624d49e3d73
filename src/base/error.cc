#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace cove {
namespace {

Code code_of_errno(int errnum) {
  switch (errnum) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return Code::NotFound;
    case EEXIST:
      return Code::Exists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::Denied;
    case ENOSYS:
    case EOPNOTSUPP:
      return Code::Unsupported;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      return Code::Exhausted;
    default:
      return Code::Internal;
  }
}

}  // namespace

Error Error::from_errno(int errnum, std::string what) {
  Error error(code_of_errno(errnum), std::move(what));
  error.errnum_ = errnum;
  return error;
}

Error&& Error::note(std::string attempt) && {
  notes_.push_back(std::move(attempt));
  return std::move(*this);
}

Error&& Error::hint(std::string advice) && {
  hint_ = std::move(advice);
  return std::move(*this);
}

Error&& Error::as(Code code) && {
  code_ = code;
  return std::move(*this);
}

Error&& Error::at(std::string pointer) && {
  pointer_ = std::move(pointer);
  return std::move(*this);
}

std::string Error::message() const {
  std::string text;
  for (auto note = notes_.rbegin(); note != notes_.rend(); ++note) text += *note + ": ";
  text += what_;
  if (errnum_ != 0) text += std::string(": ") + std::strerror(errnum_);
  return text;
}

std::string_view code_name(Code code) {
  switch (code) {
    case Code::Invalid:
      return "invalid";
    case Code::NotFound:
      return "not_found";
    case Code::Exists:
      return "exists";
    case Code::Conflict:
      return "conflict";
    case Code::Denied:
      return "denied";
    case Code::Unsupported:
      return "unsupported";
    case Code::Exhausted:
      return "exhausted";
    case Code::Unavailable:
      return "unavailable";
    case Code::Internal:
      return "internal";
  }
  return "internal";
}

}  // namespace cove
