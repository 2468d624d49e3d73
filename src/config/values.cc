#include <sys/un.h>

#include "base/text.h"
#include "config/config.h"

// Parses and formats settings with types of their own.
namespace cove {
namespace {

constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

Error not_an_address(std::string_view text) {
  return Error(Code::Invalid, concat("'", text, "' is not a listen address"))
      .hint("write unix:/absolute/path or tcp:HOST:PORT");
}

Result<ListenAddress> parse_unix(std::string_view text, std::string_view path) {
  if (!path.starts_with('/') || path.ends_with('/') || path.find('\0') != std::string_view::npos)
    return fail(not_an_address(text));
  if (path.size() > kMaxSocketPath)
    return fail(Error(Code::Invalid, concat("'", text, "' is too long for a socket path"))
                    .hint(concat("use a path of at most ", kMaxSocketPath, " bytes")));
  ListenAddress address;
  address.path = path;
  return address;
}

Result<ListenAddress> parse_tcp(std::string_view text, std::string_view rest) {
  size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return fail(not_an_address(text));
  std::string_view host = rest.substr(0, colon);
  bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  // An IPv6 address must be in brackets.
  bool has_colon = host.find(':') != std::string_view::npos;
  if (host.empty() || has_colon != bracketed || host.find_first_of("[]/ ") != std::string_view::npos)
    return fail(not_an_address(text));
  Result<int64_t> port = parse_integer(rest.substr(colon + 1), 0, 65535);
  if (!port) return fail(not_an_address(text));
  ListenAddress address;
  address.kind = ListenAddress::Kind::Tcp;
  address.host = host;
  address.port = static_cast<uint16_t>(*port);
  return address;
}

}  // namespace

Result<ListenAddress> parse_listen(std::string_view text) {
  constexpr std::string_view kUnix = "unix:", kTcp = "tcp:";
  if (text.starts_with(kUnix)) return parse_unix(text, text.substr(kUnix.size()));
  if (text.starts_with(kTcp)) return parse_tcp(text, text.substr(kTcp.size()));
  return fail(not_an_address(text));
}

std::string to_text(const ListenAddress& address) {
  if (address.kind == ListenAddress::Kind::Unix) return "unix:" + address.path;
  bool bracketed = address.host.find(':') != std::string::npos;
  return bracketed ? concat("tcp:[", address.host, "]:", address.port)
                   : concat("tcp:", address.host, ":", address.port);
}

bool reaches_beyond_machine(const ListenAddress& address) {
  if (address.kind == ListenAddress::Kind::Unix) return false;
  return address.host != "localhost" && !address.host.starts_with("127.") && address.host != "::1";
}

const char* on_expire_name(OnExpire action) {
  switch (action) {
    case OnExpire::Stop:
      return "stop";
    case OnExpire::Pause:
      return "pause";
    case OnExpire::Delete:
      return "delete";
  }
  return "";
}

Result<OnExpire> parse_on_expire(std::string_view text) {
  for (OnExpire action : {OnExpire::Stop, OnExpire::Pause, OnExpire::Delete})
    if (text == on_expire_name(action)) return action;
  return fail(Error(Code::Invalid, concat("'", text, "' is not what can happen at the end"))
                  .hint("write stop, pause or delete"));
}

const char* log_level_name(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return "debug";
    case LogLevel::Info:
      return "info";
    case LogLevel::Warning:
      return "warning";
    case LogLevel::Error:
      return "error";
  }
  return "";
}

}  // namespace cove
