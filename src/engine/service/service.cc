#include "engine/service/service.h"

namespace cove::engine {

std::unique_ptr<Service> Service::open(Engine& engine) {
  std::unique_ptr<Service> service(new Service(engine));
  for (const std::shared_ptr<Exec>& exec : service->sessions_->followed_execs()) service->attendance_.expect(exec);
  return service;
}

}  // namespace cove::engine
