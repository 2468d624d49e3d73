#include "cli/denials.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "cli/table.h"
#include "cli/terminal.h"

namespace cove::cli {
namespace {

using client::text_of;

struct Reason {
  std::string_view code;
  std::string_view words;
  bool can_be_allowed;  // by a rule of the sandbox's own
};
constexpr Reason kReasons[] = {
    {"not_allowed", "not on the allow list", true},
    {"needs_name", "an address, and no allowed network", true},
    {"private_address", "a private address, and no allowed network", true},
    {"blocked", "on a block list", false},
    {"no_network", "no network", false},
    {"protocol", "a protocol that this tier does not carry", false},
};

}  // namespace

std::string denial_line(const Json& denial, const std::string& sandbox) {
  const std::string host = printable(text_of(denial, "host")), code = text_of(denial, "code");
  const uint64_t port = client::count_of(denial, "port");
  const Reason* reason = std::ranges::find(kReasons, code, &Reason::code);
  const bool known = reason != std::end(kReasons);
  const std::string why = known ? std::string(reason->words) : printable(text_of(denial, "why"));
  std::string line =
      concat("denied: ", port ? concat(host, ":", port) : host, why.empty() ? "" : concat(" (", why, ")"));
  const std::string rule = printable(text_of(denial, "rule"));
  if (!known || !reason->can_be_allowed || rule.empty()) return line;
  return concat(line, "; allow it with: ", sandbox.empty() ? "--allow " : concat("cove net allow ", sandbox, " "),
                rule);
}

void tell_denials(const Json& result, const std::string& sandbox) {
  for (const Json& denial : client::field(result, "denials"))
    if (!text_of(denial, "host").empty()) tell(denial_line(denial, sandbox));
}

}  // namespace cove::cli
