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
};
constexpr Reason kReasons[] = {
    {"not_allowed", "not on the allow list"},
    {"needs_name", "an address, and no allowed network"},
    {"private_address", "a private address, and no allowed network"},
    {"blocked", "on a block list"},
    {"no_network", "no network"},
    {"protocol", "a protocol that this tier does not carry"},
};

std::string reason_of(const Json& denial) {
  const std::string code = text_of(denial, "code");
  const Reason* reason = std::ranges::find(kReasons, code, &Reason::code);
  return reason == std::end(kReasons) ? printable(text_of(denial, "why")) : std::string(reason->words);
}

// The server's own, but where a rule would help: it does not know how the caller named the sandbox.
std::string advice_for(const Json& denial, const std::string& sandbox) {
  const std::string hint = text_of(denial, "hint"), rule = printable(text_of(denial, "rule"));
  if (!hint.starts_with("to allow it: ") || rule.empty()) return printable(hint);
  return concat("allow it with: ", sandbox.empty() ? "--allow " : concat("cove net allow ", sandbox, " "), rule);
}

}  // namespace

std::string denial_line(const Json& denial, const std::string& sandbox) {
  const std::string host = printable(text_of(denial, "host")), why = reason_of(denial);
  const uint64_t port = client::count_of(denial, "port");
  const std::string advice = advice_for(denial, sandbox);
  return concat("denied: ", port ? concat(host, ":", port) : host, why.empty() ? "" : concat(" (", why, ")"),
                advice.empty() ? "" : concat("; ", advice));
}

void tell_denials(const Json& result, const std::string& sandbox) {
  for (const Json& denial : client::field(result, "denials"))
    if (!text_of(denial, "host").empty()) tell(denial_line(denial, sandbox));
}

}  // namespace cove::cli
