// Names of images, as callers write them: whatever is taken for one is written as it was read, and can be no path.
#include <cstdlib>

#include "image/reference.h"
#include "messages.h"

using namespace cove;
using namespace cove::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(is_loopback(text));
  Result<ImageReference> reference = parse_reference(text);
  if (!reference) return 0;
  Result<ImageReference> again = parse_reference(to_text(*reference));
  require(again && *again == *reference);
  // A tag may have dots in a row: it is never a part of a path by itself.
  for (const std::string& part : {reference->registry, reference->repository})
    require(part.find("..") == std::string::npos && part.find('\0') == std::string::npos);
  require(reference->tag.find_first_of(std::string_view("/\0", 2)) == std::string::npos);
  require(reference->digest.empty() || is_digest(reference->digest));
  static_cast<void>(complete_reference(*reference, "example.org/library"));
  return 0;
}
