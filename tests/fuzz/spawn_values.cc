// What coved and cove-spawn tell each other, as values: whatever can be read at all is the same after it was written
// and read again.
#include "base/error_wire.h"
#include "messages.h"
#include "spawn/protocol.h"

namespace {

using namespace cove;
using namespace cove::fuzz;
using native::encode;
using spawn::encode;
using spawn::Reader;
using spawn::Writer;

template <typename Decode>
void read_twice(std::string_view input, Decode decode) {
  Reader first(input);
  auto value = decode(first);
  Writer written;
  encode(written, value);
  Reader second(written.data());
  auto again = decode(second);
  require(second.done());
  Writer rewritten;
  encode(rewritten, again);
  require(written.data() == rewritten.data());
}

void read_spec(std::string_view input) {
  Reader in(input);
  Result<SandboxSpec> spec = spawn::decode_spec(in);
  if (!spec) return;
  require(in.done() && spawn::is_sandbox_id(spec->id));
  read_twice(input, [](Reader& reader) { return spawn::decode_spec(reader).value(); });
}

void read_error(std::string_view input) {
  Error error = decode_error(input);
  require(!code_name(error.code()).empty());
  Error again = decode_error(encode_error(error));
  require(again.message() == error.message() && again.hint() == error.hint());
  require(again.code() == error.code() && again.errnum() == error.errnum());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  read_twice(input, spawn::decode_limits);
  read_twice(input, spawn::decode_holding);
  read_twice(input, spawn::decode_usage);
  read_spec(input);
  read_error(input);
  if (spawn::is_group_name(input)) require(size == 22);
  return 0;
}
