// Values and a text: what is masked in the text does not depend on the pieces that it comes in, and no value is left.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "secret/mask.h"

namespace {

using namespace cove;

constexpr size_t kMostValues = 4;

void require(bool held) {
  if (!held) std::abort();
}

size_t take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<uint8_t>(input.front());
  input.remove_prefix(1);
  return byte;
}

std::string streamed(const std::shared_ptr<const MaskPatterns>& patterns, std::string_view text, size_t step,
                     bool idle) {
  MaskStream stream(patterns);
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size()))) {
    out += stream.feed(text.substr(0, step));
    if (idle) out += stream.rest();
  }
  return out + stream.finish();
}

// All that the values cover, byte by byte.
void check_covered(const MaskPatterns& patterns, const std::vector<Masked>& values, std::string_view text) {
  const MaskPatterns::Found found = patterns.find(text, MaskPatterns::More::Ends);
  require(found.settled == text.size());
  std::string covered(text.size(), '\0');
  for (const MaskPatterns::Spot& spot : found.spots) {
    require(spot.begin < spot.end && spot.end <= text.size() && spot.value < values.size());
    std::fill(covered.begin() + static_cast<ptrdiff_t>(spot.begin), covered.begin() + static_cast<ptrdiff_t>(spot.end),
              1);
  }
  for (const Masked& each : values)
    for (size_t at = text.find(each.value); each.value.size() >= kLeastMasked && at != text.npos;
         at = text.find(each.value, at + 1))
      for (size_t i = 0; i < each.value.size(); ++i) require(covered[at + i] == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t step = 1 + take_byte(input) % 64, count = take_byte(input) % (kMostValues + 1);
  std::vector<Masked> values;
  for (size_t i = 0; i < count; ++i) {
    const size_t length = std::min(take_byte(input), input.size());
    values.push_back({std::string("N") + static_cast<char>('0' + i), std::string(input.substr(0, length))});
    input.remove_prefix(length);
  }
  const auto patterns = MaskPatterns::make(values);
  if (!patterns) return 0;
  check_covered(*patterns, values, input);
  const std::string whole = patterns->mask(input);
  require(streamed(patterns, input, step, false) == whole);
  require(streamed(patterns, input, 1, false) == whole);
  // What is shown early is short; nothing else is added or lost.
  streamed(patterns, input, step, true);
  return 0;
}
