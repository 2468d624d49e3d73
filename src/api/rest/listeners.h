#pragma once

#include <string>
#include <vector>

#include "api/rest/api.h"
#include "base/unique_fd.h"
#include "config/config.h"

namespace cove::api {

// A listening socket, and how people are told of it.
struct ListeningSocket {
  UniqueFd fd;
  Face face = Face::Local;
  std::string address;  // "unix:/run/cove/api.sock", "tcp:127.0.0.1:8080"
  std::string path;     // of a Unix socket that we made and that is ours to remove
};

// A socket that whoever started us opened. Invalid where it does not listen.
Result<ListeningSocket> inherit_socket(int fd);
// Those that systemd opened for this process (sd_listen_fds(3)); none where it did not.
Result<std::vector<ListeningSocket>> inherit_from_systemd();
// Those of the setting `listen` that are for this face.
Result<std::vector<ListeningSocket>> open_sockets(const Config& config, Face face);

// Those of the setting `preview.listen`, where it is set or `sockets` have none for TCP. A port that is left to chance
// is the one of the last server, if it is free.
Result<std::vector<ListeningSocket>> open_preview_sockets(const std::vector<ListeningSocket>& sockets,
                                                          const Config& config);
// With the scheme and port at which previews are served; as it is where none are.
Result<PreviewSite> reached_site(const std::vector<ListeningSocket>& sockets, const Config& config);

// Denied where keys and data would go over a network in the clear: a TCP socket beyond the loopback, without TLS.
Result<void> check_exposure(const ListeningSocket& socket, const Config& config);

}  // namespace cove::api
