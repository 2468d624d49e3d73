#include "base/crash_point.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace cove {
namespace {

struct Target {
  std::string name;
  std::atomic<int64_t> remaining = 0;  // times to reach it until the end
};

std::vector<std::string> all_points() {
  std::vector<std::string> points = {
      "engine.create.recorded", "engine.create.built",     "engine.create.acknowledged",
      "engine.exec.recorded",   "engine.exec.sent",        "engine.exec.ended",
      "engine.delete.recorded", "engine.delete.destroyed", "engine.stop.recorded",
      "engine.stop.done",       "engine.start.recorded",   "engine.start.done",
      "spawn.create.layer",     "spawn.create.builder",    "spawn.create.group",
      "spawn.destroy.group",    "spawn.destroy.layer",     "log.frame.opened",
      "log.frame.moved",        "log.frame.closed",        "engine.session.made",
      "engine.session.ended",   "image.unpack.begun",      "image.unpack.done",
      "image.unpack.publish",   "image.assemble",          "image.remove",
      "image.blob.stored",      "image.record.before",     "image.record.after",
      "backup.copied",          "secrets.rotate.staged",   "secrets.rotate.sealed",
      "secrets.rotate.done",
  };
  // Every transaction of the store has two.
  static constexpr std::string_view kChanges[] = {
      "migrate",          "insert_sandbox",    "update_sandbox",     "touch_sandbox",
      "remove_sandbox",   "prune_idempotency", "insert_exec",        "end_exec",
      "prune_execs",      "append_events",     "prune_events",       "insert_key",
      "revoke_key",       "insert_project",    "update_project",     "remove_project",
      "make_secret",      "insert_session",    "bind_session",       "touch_session",
      "end_session",      "prune_sessions",    "retire_sandbox",     "forget_removed",
      "prune_usage",      "insert_operation",  "update_operation",   "interrupt_operations",
      "prune_operations", "put_idempotency",   "forget_idempotency", "put_secret",
      "remove_secret",    "reseal_secrets",
  };
  for (std::string_view change : kChanges) {
    points.push_back(concat("store.", change, ".before_commit"));
    points.push_back(concat("store.", change, ".after_commit"));
  }
  return points;
}

[[noreturn]] void refuse(const std::string& wish) {
  std::fprintf(stderr, "cove: COVE_CRASH_AT: there is no crash point '%s'\n", wish.c_str());
  std::_Exit(2);
}

Target& target() {
  static Target the_target;
  return the_target;
}

bool aim() {
  const char* wish = std::getenv("COVE_CRASH_AT");
  if (wish == nullptr || wish[0] == '\0') return false;
  std::string name = wish;
  int64_t times = 1;
  if (size_t colon = name.find(':'); colon != std::string::npos) {
    Result<int64_t> number = parse_integer(std::string_view(name).substr(colon + 1), 1, INT64_MAX);
    if (!number) refuse(name);
    times = *number;
    name.resize(colon);
  }
  const std::vector<std::string>& points = crash_points();
  if (std::find(points.begin(), points.end(), name) == points.end()) refuse(name);
  target().name = name;
  target().remaining = times;
  return true;
}

}  // namespace

const bool crash_detail::armed = aim();

void crash_detail::reach(std::string_view name) {
  if (name == target().name && --target().remaining == 0) ::kill(::getpid(), SIGKILL);
}

const std::vector<std::string>& crash_points() {
  static const std::vector<std::string> points = all_points();
  return points;
}

}  // namespace cove
