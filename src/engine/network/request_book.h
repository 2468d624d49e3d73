#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/network/networks.h"
#include "store/records.h"

namespace cove::engine {

// The requests for access of one sandbox. Not thread-safe.
class RequestBook {
 public:
  // Whether the book has changed by more than a count: it is a new one. Where there are kMostRequests, the oldest that
  // was decided gives way, and else the new one is not taken.
  struct Noted {
    const NetworkRequest* request = nullptr;  // none: it was not taken
    bool is_new = false;
    std::string gone;  // the id of the one that gave way
  };
  // One for each host and port, until it is approved: what is denied after that (approved once, or withdrawn) asks
  // anew.
  Noted note(NetworkRequest request);
  // NotFound; Conflict where id and rule do not fit.
  Result<NetworkRequest*> find(const Networks::RequestName& name);
  const std::vector<NetworkRequest>& all() const { return requests_; }
  void restore(std::vector<NetworkRequest> requests) { requests_ = std::move(requests); }

 private:
  std::vector<NetworkRequest> requests_;
};

Result<void> check_pending(const NetworkRequest& request);  // Conflict

NetworkRequestRecord record_of(const NetworkRequest& request);
Result<NetworkRequest> request_of(const NetworkRequestRecord& record);
std::string to_json(const NetworkRequest& request);

}  // namespace cove::engine
