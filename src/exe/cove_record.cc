#include <sys/prctl.h>

#include <cstdio>

#include "change/base_record.h"
#include "sys/landlock.h"
#include "sys/standard_streams.h"

// cove-record: records the state of the folder of descriptor 3 and writes it to standard output in the format of
// change/. Runs with the rights of its caller, reduced to reading below that folder.
namespace {

using namespace cove;

constexpr int kFolder = 3;
constexpr int kOutput = 1;
constexpr int kFailed = 125;

Result<void> restrict_to_folder() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return fail_errno("no_new_privs");
  Result<sys::Landlock> fence = sys::Landlock::create();
  if (!fence && fence.error().code() == Code::Unsupported) return {};  // acceptable, because this program only reads
  if (!fence) return std::unexpected(fence.error());
  COVE_TRY(fence->allow(kFolder, sys::kLandlockRead));
  return fence->restrict_self();
}

Result<void> record() {
  COVE_TRY_NOTE("restrict itself", restrict_to_folder());
  return change::send_base(COVE_TRY(change::record_base(kFolder)), kOutput);
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__
// The leak checker does not work with these restrictions.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

int main() {
  cove::sys::keep_standard_streams();
  Result<void> recorded = record();
  if (recorded) return 0;
  std::fprintf(stderr, "%s\n", recorded.error().message().c_str());
  return kFailed;
}
