#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string_view>

// `cove run COMMAND`, where no options say more, before there is a C library. That needs half a millisecond and some
// eighty pages of memory until main() begins, most of it for asking the processor what it can do: as long as the server
// needs to make the sandbox and to start the command.
//
// So `cove` begins with a function that needs no library (head_start.cc). It asks for the sandbox; where the command
// reads nothing, it asks for the exec, too, and where that ends soon and in a plain way, it prints what the command
// printed, and ends (quick_run.cc). Whatever is not plain is left to the rest of the program, which finds what was
// asked and answered so far, and goes on as if it had asked itself: it makes the same requests, and those that it finds
// asked it does not send.
//
// Only x86-64; elsewhere nothing is asked.
namespace cove::client {

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

// What is left to the rest of the program.
struct HeadStart {
  int fd;             // a connection over which kPlainRun was asked, or 0
  sockaddr_un place;  // where to
  uint32_t exec_size;
  uint32_t answers_size;
  char exec[8 * 1024];      // the request for the exec, where it was made
  char answers[64 * 1024];  // all that was read
};
[[gnu::visibility("hidden")]] extern HeadStart head_start_left;

}  // namespace cove::client
