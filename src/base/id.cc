#include "base/id.h"

#include <sys/random.h>

#include <array>
#include <cstdlib>

namespace cove {

std::string make_id() {
  static constexpr char kAlphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::array<unsigned char, 20> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  std::string id;
  for (unsigned char byte : bytes) id += kAlphabet[byte % (id.empty() ? 26 : 36)];
  return id;
}

}  // namespace cove
