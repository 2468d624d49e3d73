// What coved and cove-spawn tell each other, as values: whatever can be read at all is the same after it was written
// and read again.
#include "messages.h"
#include "runtime/native/error_report.h"
#include "runtime/native/spawn_protocol.h"

namespace {

using namespace cove;
using namespace cove::fuzz;
using native::spawn::Reader;
using native::spawn::Writer;

template <typename Decode>
void read_twice(std::string_view input, Decode decode) {
  Reader first(input);
  auto value = decode(first);
  Writer written;
  native::spawn::encode(written, value);
  Reader second(written.data());
  auto again = decode(second);
  require(second.done());
  Writer rewritten;
  native::spawn::encode(rewritten, again);
  require(written.data() == rewritten.data());
}

void read_spec(std::string_view input) {
  Reader in(input);
  Result<SandboxSpec> spec = native::spawn::decode_spec(in);
  if (!spec) return;
  require(in.done() && native::spawn::is_sandbox_id(spec->id));
  read_twice(input, [](Reader& reader) { return native::spawn::decode_spec(reader).value(); });
}

void read_error(std::string_view input) {
  Error error = native::decode_error(input);
  require(!code_name(error.code()).empty());
  Error again = native::decode_error(native::encode_error(error));
  require(again.message() == error.message() && again.hint() == error.hint());
  require(again.code() == error.code() && again.errnum() == error.errnum());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  read_twice(input, native::spawn::decode_limits);
  read_twice(input, native::spawn::decode_holding);
  read_twice(input, native::spawn::decode_usage);
  read_spec(input);
  read_error(input);
  if (native::spawn::is_group_name(input)) require(size == 22);
  return 0;
}
