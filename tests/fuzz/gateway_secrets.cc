// Headers and targets that placeholders are looked for in, and answers that values are looked for in: lengths hold, no
// value is left, nothing depends on the pieces in which it comes, and no head is broken.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "net/gateway/placeholder.h"
#include "net/gateway/scrubber.h"

namespace {

using namespace cove::net;

void require(bool held) {
  if (!held) std::abort();
}

const BrokeredSecret kSecret = {
    "T", "ghp_PLACE/HOLDER+x", "ghp_realVALUE\"/+&=", {}, {"authorization", "x-api-key", "query"}};

std::string in_pieces(const std::shared_ptr<const SecretForms>& forms, std::string_view text, size_t step) {
  Scrubber scrubber(forms);
  std::string out;
  while (!text.empty()) {
    scrubber.feed(text.substr(0, step), out);
    if (step == 3) scrubber.release(out);
    text.remove_prefix(std::min(step, text.size()));
  }
  scrubber.finish(out);
  return out;
}

void look_for_values(std::string_view text) {
  static const auto kForms = std::make_shared<const SecretForms>(std::vector<BrokeredSecret>{kSecret});
  const std::string whole = in_pieces(kForms, text, text.size() + 1);
  require(whole.size() == text.size());
  require(whole.find(kSecret.value) == std::string::npos);
  require(in_pieces(kForms, text, 1) == whole);
  require(in_pieces(kForms, text, 7) == whole);
  require(in_pieces(kForms, text, 3).size() == whole.size());
}

void look_for_placeholders(std::string_view header, std::string_view target) {
  auto breaks = [](std::string_view text) { return text.find_first_of(std::string_view("\r\n\0", 3)) != text.npos; };
  RequestHead head{std::string(target), {{"Authorization", std::string(header)}, {"X-Other", std::string(header)}}};
  const bool any = put_in(kSecret, head);
  require(any == (head.target != target || head.headers[0].second != header));
  require(head.headers[1].second == header);
  require(breaks(header) || !breaks(head.headers[0].second));
  require(breaks(target) || !breaks(head.target));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t middle = std::min(all.find('\xff'), all.size());
  look_for_placeholders(all.substr(0, middle), all.substr(std::min(middle + 1, all.size())));
  look_for_values(all);
  return 0;
}
