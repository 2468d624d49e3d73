#include "engine/live/context_channel.h"

#include <poll.h>

#include <algorithm>

#include "base/text.h"

namespace cove::live {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kWritePatience(30'000);
constexpr milliseconds kLook(100);  // whether somebody still waits
constexpr size_t kPortion = 1 << 20;
constexpr size_t kLongestLine = 64 << 20;

std::unexpected<Error> ended() {
  return fail(
      Error(Code::Conflict, "the context's interpreter has ended").hint("restart the context, or make another"));
}

constexpr int kDeepest = 100;  // that a message may be nested

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char sign = text[i];
    if (in_string) {
      if (sign == '\\') ++i;
      if (sign == '"') in_string = false;
      continue;
    }
    if (sign == '"') in_string = true;
    if ((sign == '{' || sign == '[') && ++depth > kDeepest) return true;
    if (sign == '}' || sign == ']') --depth;
  }
  return false;
}

// The fields that a message has, if it has them, are of the kind that they are taken for.
bool well_formed(const Json& message) {
  constexpr const char* kTexts[] = {"type", "id", "text", "name", "value", "traceback", "status"};
  auto is_kind = [&](const char* name, bool (*kind)(const Json&)) {
    auto found = message.find(name);
    return found == message.end() || kind(*found);
  };
  return message.is_object() && message.contains("type") &&
         std::ranges::all_of(
             kTexts,
             [&](const char* name) { return is_kind(name, [](const Json& value) { return value.is_string(); }); }) &&
         is_kind("main", [](const Json& value) { return value.is_boolean(); }) &&
         is_kind("formats", [](const Json& value) { return value.is_object(); });
}

// The user's code can write to the channel, too: what is no message is passed over.
std::optional<Json> parse_message(std::string_view line) {
  if (nests_too_deep(line)) return std::nullopt;
  Json message = Json::parse(line, nullptr, false);
  if (!well_formed(message)) return std::nullopt;
  return message;
}

}  // namespace

Result<std::shared_ptr<ContextChannel>> ContextChannel::open(std::shared_ptr<Exec> exec, uint64_t from) {
  auto channel = std::make_shared<ContextChannel>();
  channel->follower_ = COVE_TRY(exec->follow(from));
  channel->exec_ = std::move(exec);
  return channel;
}

bool ContextChannel::take_turn(Clock::time_point until, const std::function<bool()>& is_wanted) {
  std::unique_lock lock(mutex_);
  while (busy_) {
    lock.unlock();
    if (Clock::now() >= until || !is_wanted()) return false;
    lock.lock();
    changed_.wait_until(lock, std::min(until, Clock::now() + kLook), [this] { return !busy_; });
  }
  return busy_ = true;
}

void ContextChannel::give_turn() {
  {
    std::lock_guard lock(mutex_);
    busy_ = false;
  }
  changed_.notify_one();
}

bool ContextChannel::busy() const {
  std::lock_guard lock(mutex_);
  return busy_;
}

Result<void> ContextChannel::say(const Json& request) {
  return exec_->write_input(request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n", kWritePatience);
}

Result<std::vector<ContextChannel::Json>> ContextChannel::hear() {
  std::vector<Json> messages;
  for (const Chunk& chunk : COVE_TRY(follower_->next(kPortion))) {
    if (chunk.stream == Stream::Err) {
      messages.push_back({{"type", "stderr"}, {"text", chunk.data}});
      continue;
    }
    line_ += chunk.data;
    take_lines(messages);
    if (line_.size() > kLongestLine) return fail(Code::Exhausted, "the context's interpreter sent a line without end");
  }
  if (messages.empty() && follower_->at_end()) return ended();
  return messages;
}

Result<void> ContextChannel::wait_for_ready(milliseconds patience) {
  Clock::time_point until = Clock::now() + patience;
  std::string complaint;
  while (true) {
    Result<std::vector<Json>> messages = hear();
    if (!messages) return why_not_ready(complaint);
    for (const Json& message : *messages) {
      if (message.value("type", "") == "ready") return {};
      if (message.value("type", "") == "stderr") complaint += message.value("text", "");
    }
    auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
    pollfd polled = {fd(), POLLIN, 0};
    if (left <= 0 || ::poll(&polled, 1, static_cast<int>(left)) <= 0)
      return fail(Code::Unavailable, "the context's interpreter does not come up");
  }
}

void ContextChannel::take_lines(std::vector<Json>& messages) {
  size_t from = 0;
  for (size_t end; (end = line_.find('\n', from)) != std::string::npos; from = end + 1) {
    if (auto message = parse_message(std::string_view(line_).substr(from, end - from)))
      messages.push_back(std::move(*message));
  }
  line_.erase(0, from);
}

Result<void> ContextChannel::why_not_ready(const std::string& complaint) const {
  if (std::optional<Error> failure = exec_->failure()) return fail(*failure);
  Json result = Json::parse(exec_->info().result, nullptr, false);
  std::string why = result.is_object() ? result.value("why", "") : "";
  return fail(Error(Code::Unavailable,
                    concat("the context's interpreter did not start: ", complaint.empty() ? why : complaint)));
}

}  // namespace cove::live
