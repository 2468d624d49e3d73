#include "runtime/docker/own_containers.h"

#include <fcntl.h>

#include <algorithm>

#include "base/text.h"
#include "runtime/docker/container_order.h"
#include "sys/file.h"

namespace cove::docker {
namespace {

// One socket per line.
constexpr const char* kEngines = "/engines";

std::string label_of(const char* name, const std::string& value) { return concat(std::string_view(name), "=", value); }

}  // namespace

std::string OwnContainers::label() const { return label_of(kStateLabel, state_); }

std::vector<std::string> OwnContainers::engines() const {
  std::vector<std::string> sockets = split(trim(sys::read_file(state_ + kEngines, 1 << 20).value_or("")), '\n');
  std::erase(sockets, "");
  return sockets;
}

Result<void> OwnContainers::note_engine(const std::string& socket) const {
  std::vector<std::string> known = engines();
  if (std::ranges::find(known, socket) != known.end()) return {};
  UniqueFd file = COVE_TRY(sys::open(state_ + kEngines, O_WRONLY | O_APPEND | O_CREAT, 0644));
  return sys::write_all(file.get(), socket + "\n");
}

Result<OwnContainers::Found> OwnContainers::find(const std::string& sandbox_id) const {
  Error last(Code::NotFound, concat("no engine has a container of sandbox ", sandbox_id));
  for (const std::string& socket : engines()) {
    Engine engine(socket);
    Result<std::vector<Container>> found = engine.list({label(), label_of(kSandboxLabel, sandbox_id)});
    if (found && !found->empty()) return Found{std::move(engine), found->front().id, found->front().sized};
    if (!found) last = found.error();
  }
  return fail(std::move(last));
}

Result<void> OwnContainers::set_limits(const std::string& sandbox_id, const Json& order) const {
  Found found = COVE_TRY(find(sandbox_id));
  return found.engine.update(found.id, order);
}

Result<void> OwnContainers::stop(const std::string& sandbox_id) const {
  Result<Found> found = find(sandbox_id);
  if (found) return found->engine.stop(found->id);
  return found.error().code() == Code::NotFound ? Result<void>() : std::unexpected(found.error());
}

Result<void> OwnContainers::remove(const std::string& sandbox_id) const {
  Result<Found> found = find(sandbox_id);
  if (found) return found->engine.remove(found->id);
  return found.error().code() == Code::NotFound ? Result<void>() : std::unexpected(found.error());
}

Result<void> OwnContainers::remove_others(const std::vector<std::string>& known) const {
  Result<void> swept;
  for (const std::string& socket : engines()) {
    Engine engine(socket);
    Result<std::vector<Container>> found = engine.list({label()});
    // The engine is not running: its containers are swept when it is back.
    if (!found) continue;
    for (const Container& container : *found) {
      if (std::ranges::find(known, container.sandbox) != known.end()) continue;
      Result<void> removed = engine.remove(container.id);
      if (!removed)
        swept = fail(std::move(removed).error().note(concat("remove leftovers of sandbox ", container.sandbox)));
    }
  }
  return swept;
}

}  // namespace cove::docker
