#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string_view>

namespace cove::client {

// What `cove run COMMAND` asks its server for, where no options say more. The C library needs half a millisecond before
// main() begins, most of it for asking the processor what it can do: so the program begins with a function that needs
// no library (head_start.cc) and asks this first, and the server makes the sandbox meanwhile.
//
// Whoever asks for the same later finds it asked. Only x86-64; elsewhere nothing is asked.
inline constexpr std::string_view kPlainRun =
    "POST /v1/sandboxes HTTP/1.1\r\n"
    "Host: localhost\r\n"
    "User-Agent: cove/" COVE_VERSION
    "\r\n"
    "Prefer: return=minimal\r\n"
    "Accept: application/json\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 106\r\n"
    "\r\n"
    R"({"image":"host","user":"user","lifecycle":{"idle":15,"max":null,"on_expire":"delete","auto_resume":false}})";

// What it leaves to the rest of the program: a connection over which that was asked, or 0, and the socket's path.
struct HeadStart {
  int fd;
  sockaddr_un place;
};
[[gnu::visibility("hidden")]] extern HeadStart head_start_left;

}  // namespace cove::client
