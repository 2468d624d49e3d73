#pragma once

#include <string>
#include <vector>

#include "engine/preview/listening_port.h"
#include "http/exchange.h"

namespace cove::api {

// What a visitor of a preview is told in place of it.
struct Notice {
  int status = 502;
  std::string title;
  std::string hint = {};
  std::vector<engine::ListeningPort> ports = {};  // what does listen
  bool passing = false;                           // it may work soon: browsers try again by themselves
};
enum class Reader { Browser, Program };
std::string notice_body(const Notice& notice, Reader reader);
void tell_notice(http::Exchange& exchange, const Notice& notice, Reader reader);

}  // namespace cove::api
