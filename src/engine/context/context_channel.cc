#include "engine/context/context_channel.h"

#include <poll.h>

#include <algorithm>

#include "base/text.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWritePatience(30'000);
constexpr milliseconds kLook(100);  // whether somebody still waits
constexpr size_t kPortion = 1 << 20;
constexpr size_t kLongestLine = 32 << 20;
constexpr size_t kMostValues = 600'000;  // of a message: each takes far more room than its text
constexpr uint64_t kMostComparisons = 50'000'000;
constexpr size_t kMostUnasked = 64 << 10;
constexpr int kMostPortions = 64;

std::unexpected<Error> ended() {
  return fail(
      Error(Code::Conflict, "the context's interpreter has ended").hint("restart the context, or make another"));
}

constexpr size_t kDeepest = 100;  // that a message may be nested

// Whether its values are more, or lie deeper, than a line of its length should have. A key is compared with all that
// its object has already.
bool is_unwieldy(std::string_view text) {
  uint64_t comparisons = 0;
  size_t values = 0;
  std::vector<uint64_t> keys;  // of each object and array around
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char sign = text[i];
    if (in_string) {
      if (sign == '\\') ++i;
      if (sign == '"') in_string = false;
      continue;
    }
    if (sign == '"') in_string = true;
    if (sign == ',' || sign == '{' || sign == '[') ++values;
    if (sign == ':' && !keys.empty()) comparisons += keys.back()++;
    if (sign == '{' || sign == '[') keys.push_back(0);
    if (keys.size() > kDeepest) return true;
    if ((sign == '}' || sign == ']') && !keys.empty()) keys.pop_back();
  }
  return values > kMostValues || comparisons > kMostComparisons;
}

// The fields that a message has, if it has them, are of the kind that they are taken for.
bool well_formed(const Json& message) {
  constexpr const char* kTexts[] = {"type", "id", "text", "name", "value", "traceback", "status", "display_id"};
  auto is_kind = [&](const char* name, bool (*kind)(const Json&)) {
    auto found = message.find(name);
    return !found || kind(*found);
  };
  return message.is_object() && message.contains("type") &&
         std::ranges::all_of(
             kTexts,
             [&](const char* name) { return is_kind(name, [](const Json& value) { return value.is_string(); }); }) &&
         is_kind("main", [](const Json& value) { return value.is_boolean(); }) &&
         is_kind("update", [](const Json& value) { return value.is_boolean(); }) &&
         is_kind("formats", [](const Json& value) { return value.is_object(); });
}

// The user's code can write to the channel, too: what is no message is passed over.
std::optional<KernelMessage> parse_message(std::string_view line) {
  if (is_unwieldy(line)) return KernelMessage{{{"type", kLeftOut}}, line.size()};
  Json message = Json::parse(line).value_or(Json());
  if (!well_formed(message)) return std::nullopt;
  return KernelMessage{std::move(message), line.size()};
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
  return exec_->write_input(request.dump() + "\n", kWritePatience);
}

Result<std::vector<KernelMessage>> ContextChannel::hear() {
  std::vector<KernelMessage> messages;
  for (const Chunk& chunk : COVE_TRY(follower_->next(kPortion))) {
    if (chunk.stream == Stream::Err)
      messages.push_back({{{"type", "stderr"}, {"text", chunk.data}}, chunk.data.size()});
    else
      take(chunk.data, messages);
  }
  if (messages.empty() && follower_->at_end()) return ended();
  for (KernelMessage& message : messages) {
    if (abandoned_.empty()) break;
    message.abandoned = abandoned_.contains(message.text("id"));
    if (message.type() == "done") abandoned_.erase(message.text("id"));
  }
  return messages;
}

Result<std::vector<KernelMessage>> ContextChannel::hear_unasked() {
  std::vector<KernelMessage> kept;
  size_t bytes = 0;
  for (int i = 0; i < kMostPortions; ++i) {
    std::vector<KernelMessage> heard = COVE_TRY(hear());
    if (heard.empty()) break;
    for (KernelMessage& message : heard) {
      if (!message.is_output() || message.abandoned) continue;
      message.unasked = true;
      bytes += message.bytes;
      kept.push_back(std::move(message));
    }
    auto first = kept.begin();
    for (; first != kept.end() && bytes > kMostUnasked; ++first) bytes -= first->bytes;
    kept.erase(kept.begin(), first);
  }
  return kept;
}

Result<void> ContextChannel::wait_for_ready(milliseconds patience) {
  Clock::time_point until = Clock::now() + patience;
  std::string complaint;
  while (true) {
    Result<std::vector<KernelMessage>> messages = hear();
    if (!messages) return why_not_ready(complaint);
    for (const KernelMessage& message : *messages) {
      if (message.type() == "ready") return {};
      if (message.type() == "stderr") complaint += message.text("text");
    }
    auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
    pollfd polled = {fd(), POLLIN, 0};
    if (left <= 0 || ::poll(&polled, 1, static_cast<int>(left)) <= 0)
      return fail(Code::Unavailable, "the context's interpreter does not come up");
  }
}

// Of a line that is too long, only the length is kept.
void ContextChannel::take(std::string_view data, std::vector<KernelMessage>& messages) {
  while (!data.empty()) {
    const size_t end = data.find('\n');
    const std::string_view part = data.substr(0, end);
    line_bytes_ += part.size();
    if (line_bytes_ <= kLongestLine)
      line_ += part;
    else
      line_ = std::string();
    if (end == std::string_view::npos) return;
    take_line(messages);
    data.remove_prefix(end + 1);
  }
}

void ContextChannel::take_line(std::vector<KernelMessage>& messages) {
  if (line_bytes_ > kLongestLine)
    messages.push_back({{{"type", kLeftOut}}, line_bytes_});
  else if (auto message = parse_message(line_))
    messages.push_back(std::move(*message));
  line_.clear();
  if (line_.capacity() > kPortion) line_.shrink_to_fit();
  line_bytes_ = 0;
}

Result<void> ContextChannel::why_not_ready(const std::string& complaint) const {
  if (std::optional<Error> failure = exec_->failure()) return fail(*failure);
  const std::optional<ExecResult> result = exec_->info().result;
  const std::string why = result ? result->why : "";
  constexpr int kNotFound = 127;
  const bool there = !result || result->exit_code != kNotFound;
  return fail(Error(there ? Code::Unavailable : Code::NotFound,
                    concat("the context's interpreter did not start: ", complaint.empty() ? why : complaint)));
}

}  // namespace cove::engine
