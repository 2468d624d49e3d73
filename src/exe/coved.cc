// The server: coved --channel FD [--wants-version VERSION] [--config FILE] [--owner UID] [--set NAME=VALUE]…
// [--folder-fd FD] [--tls-cert-fd FD --tls-key-fd FD] [--secrets-key-fd FD [--old-secrets-key-fd FD]] [--listen-fd
// FD[:KIND]]… [--ready-fd FD] [--auto]. cove-spawn starts it; it has no privilege.
#include <unistd.h>

#include <clocale>
#include <cstdio>

#include "api/rest/serve.h"
#include "base/text.h"
#include "sys/standard_streams.h"

namespace cove {
namespace {

constexpr int kOwnFailure = 125;  // the same in every program of Cove

Result<int> parse_descriptor(const std::string& text) {
  return static_cast<int>(COVE_TRY(parse_integer(text.substr(0, text.find(':')), 0, INT32_MAX)));
}

// Applies one option with its value.
Result<void> take_option(api::ServeOrder& order, const std::string& name, const std::string& value) {
  if (name == "--channel") {
    order.channel = COVE_TRY(parse_descriptor(value));
  } else if (name == "--config") {
    order.config_file = value;
  } else if (name == "--owner") {
    order.owner = static_cast<uint32_t>(COVE_TRY(parse_integer(value, 0, UINT32_MAX)));
  } else if (name == "--listen-fd") {
    order.sockets.push_back(COVE_TRY(parse_descriptor(value)));
  } else if (name == "--tls-cert-fd" || name == "--tls-key-fd") {
    std::string& file = name == "--tls-cert-fd" ? order.tls_cert : order.tls_key;
    file = concat("/proc/self/fd/", COVE_TRY(parse_descriptor(value)));
  } else if (name == "--secrets-key-fd" || name == "--old-secrets-key-fd") {
    std::string& file = name == "--secrets-key-fd" ? order.secrets_key : order.old_secrets_key;
    file = concat("/proc/self/fd/", COVE_TRY(parse_descriptor(value)));
  } else if (name == "--folder-fd") {
    // This user may have no access to its parent folders: it is entered once, and "." names it from then on.
    if (::fchdir(COVE_TRY(parse_descriptor(value))) < 0) return fail_errno("enter the server's folder");
    order.folder = std::string(".");
  } else if (name == "--ready-fd") {
    order.ready_fd = COVE_TRY(parse_descriptor(value));
  } else if (name == "--wants-version") {
    if (value != COVE_VERSION)
      return fail(Error(Code::Conflict, concat("cove-spawn has version ", value, ", but coved has ", COVE_VERSION))
                      .hint("install all Cove programs of the same version"));
  } else if (name == "--set") {
    size_t equals = value.find('=');
    if (equals == std::string::npos) return fail(Code::Invalid, concat("'", value, "' is not NAME=VALUE"));
    order.settings.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  } else {
    return fail(Code::Invalid, "unknown option");
  }
  return {};
}

Result<api::ServeOrder> parse(const std::vector<std::string>& words) {
  api::ServeOrder order;
  order.owner = ::geteuid();
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--auto") {
      order.exits_when_idle = true;
      continue;
    }
    if (i + 1 == words.size()) return fail(Code::Invalid, concat(words[i], " needs a value or is not an option"));
    COVE_TRY_NOTE(words[i], take_option(order, words[i], words[i + 1]));
    ++i;
  }
  if (order.channel < 0)
    return fail(Error(Code::Invalid, "--channel is missing").hint("use cove serve to start the server"));
  return order;
}

int complain(const Error& error) {
  std::fprintf(stderr, "cove: %s\n", error.message().c_str());
  if (!error.hint().empty()) std::fprintf(stderr, "      %s\n", error.hint().c_str());
  return kOwnFailure;
}

}  // namespace
}  // namespace cove

int main(int argc, char** argv) {
  cove::sys::keep_standard_streams();
  if (argc == 2 && std::string_view(argv[1]) == "--version") return std::puts(COVE_VERSION), 0;
  // Names in archives are UTF-8, independent of the caller's locale.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  auto order = cove::parse({argv + 1, argv + argc});
  if (!order) return cove::complain(order.error());
  auto served = cove::api::serve(*order);
  return served ? 0 : cove::complain(served.error());
}
