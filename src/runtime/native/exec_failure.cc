#include "runtime/native/exec_failure.h"

#include <cerrno>

#include "base/text.h"

namespace cove::native {
namespace {

constexpr int kNotFound = 127;
constexpr int kCannotExecute = 126;
constexpr int kOurs = 125;

ExecFailed execute_failure(const wire::ExecRequest& request, int errnum) {
  // Of an exec that an earlier server started, only the id is known.
  std::string what = concat("execute ", request.argv.empty() ? "the program" : request.argv[0]);
  if (errnum == ENOENT)
    return {request.id,
            Error::from_errno(errnum, what).hint("check that it is installed in the image and is on the PATH inside"),
            kNotFound};
  if (errnum == E2BIG)
    return {request.id, Error::from_errno(errnum, what).hint("pass long input on stdin or as a file").as(Code::Invalid),
            kCannotExecute};
  return {request.id, Error::from_errno(errnum, what), kCannotExecute};
}

}  // namespace

ExecFailed explain_failure(const wire::ExecRequest& request, wire::Stage stage, int errnum) {
  switch (stage) {
    case wire::Stage::Execute:
      return execute_failure(request, errnum);
    case wire::Stage::User:
      return {request.id,
              Error(Code::NotFound, concat("user '", request.user, "' does not exist in the sandbox"))
                  .hint("use `user`, `root`, or a number with an optional :group"),
              kOurs};
    case wire::Stage::Folder:
      return {request.id,
              Error::from_errno(errnum, concat("enter working folder '", request.cwd, "' in the sandbox"))
                  .hint("the working folder must be an absolute path that exists inside"),
              kOurs};
    case wire::Stage::JoinGroup:
      return {request.id, Error::from_errno(errnum, "move the program into its control group"), kOurs};
    case wire::Stage::Terminal:
      return {request.id, Error::from_errno(errnum, "connect the program's streams"), kOurs};
    case wire::Stage::Rlimit:
      return {request.id, Error::from_errno(errnum, "set the program's rlimits"), kOurs};
    case wire::Stage::Identity:
      return {request.id, Error::from_errno(errnum, concat("become user '", request.user, "' in the sandbox")), kOurs};
    case wire::Stage::Fence:
      return {request.id, Error::from_errno(errnum, "apply the program's restrictions"), kOurs};
    case wire::Stage::Fork:
      return {request.id, Error::from_errno(errnum, "fork in the sandbox"), kOurs};
    case wire::Stage::Network:
      return {request.id,
              Error::from_errno(errnum, "give the program an empty network")
                  .hint("this runtime cannot run a command without the network of its sandbox"),
              kOurs};
    case wire::Stage::Request:
      break;
  }
  return {request.id, Error(Code::Internal, "process 1 did not understand the request"), kOurs};
}

}  // namespace cove::native
