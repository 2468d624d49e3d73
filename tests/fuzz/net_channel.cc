// What coved and the gateway tell each other: whatever can be read is the same after it was written and read again.
#include "messages.h"
#include "net/channel.h"
#include "net/gateway_messages.h"

namespace {

using namespace cove;
using namespace cove::fuzz;
using namespace cove::net;

template <typename Decode>
void read_twice(std::string_view input, Decode decode) {
  wire::Reader first(input);
  auto value = decode(first);
  if (!value) return require(value.error().code() == Code::Invalid);
  wire::Writer written;
  encode(written, *value);
  wire::Reader second(written.data());
  auto again = decode(second);
  require(again.has_value() && second.done());
  wire::Writer rewritten;
  encode(rewritten, *again);
  require(written.data() == rewritten.data());
}

void read_entry(std::string_view input) {
  wire::Reader in(input);
  Result<NetworkEntry> entry = decode_entry(in);
  if (!entry) return;
  for (const std::string* text : {&entry->sandbox, &entry->host, &entry->address, &entry->method, &entry->path,
                                  &entry->rule, &entry->layer, &entry->why, &entry->code})
    require(is_plain(*text));
  require(stage_name(entry->stage) && protocol_name(entry->protocol));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  read_twice(input, decode_policy);
  read_twice(input, decode_entry);
  read_twice(input, decode_settings);
  read_entry(input);
  wire::Reader synced(input), request(input);
  (void)decode_synced(synced);
  if (Result<AccessRequest> asked = decode_request(request)) require(is_plain(asked->reason) && !asked->host.empty());
  return 0;
}
