#include "engine/service/code_outcomes.h"

#include <algorithm>
#include <chrono>
#include <csignal>

#include "base/text.h"

namespace cove::engine {
namespace {

constexpr size_t kMostResults = 256;
constexpr size_t kMostResultBytes = 32 << 20;

std::string with_place(const std::string& placed, const std::string& why) {
  return placed.empty() ? why : concat(placed, "; ", why);
}

}  // namespace

RichResult result_of(const KernelMessage& message) {
  return {message.body.value("main", false), message.body.value("formats", Json::object()), message.text("display_id")};
}

CodeError error_of(const KernelMessage& message) {
  return {message.text("name"), message.text("value"), message.text("traceback")};
}

void CodeOutcomes::take(KernelMessage message) {
  const std::string type = message.type();
  if (type == "stdout") take_text(out_, message);
  if (type == "stderr") take_text(err_, message);
  if (type == "result") take_result(std::move(message));
  if (type == "clear") clear_displayed();
  if (type == kLeftOut) ++left_out_;
  if (type == "error") error_ = error_of(message);
  if (type == "done") status_ = message.body.value("status", "ok");
}

ExecResult CodeOutcomes::result(const CodeRun& run) {
  ExecResult result;
  result.exec_id = run.exec_id;
  result.sandbox_id = run.sandbox.spec.id;
  result.status = status();
  if (!was_stopped()) result.exit_code = result.status == ExecStatus::Success ? 0 : 1;
  result.out = out_.take();
  result.err = err_.take();
  result.started_at = std::chrono::system_clock::time_point(std::chrono::milliseconds(run.started_ms));
  result.duration_ms = run.took_ms;
  result.usage = run.usage;
  result.limits = enforced_for(run.sandbox, limits_);
  if (left_out_ > 0)
    result.denials.push_back(
        {concat("give back ", left_out_, " of the results"),
         concat("at most ", kMostResults, " are given back, and ", format_bytes(kMostResultBytes), " together")});
  result.language = run.context.used;
  result.why = with_place(run.placed, why(result.status));
  if (result.status == ExecStatus::Killed && begun) result.signal = SIGINT;
  if (lost && run.interpreter_end) tell_end(result, *run.interpreter_end, run.placed);
  for (Given& each : results_) result.results.push_back(std::move(each.value));
  result.context_id = run.context.id;
  result.error = error_;
  return result;
}

ExecStatus CodeOutcomes::status() const {
  if (wrote_too_much()) return ExecStatus::LimitExceeded;
  if (timed_out) return ExecStatus::Timeout;
  if (ended_well()) return ExecStatus::Success;
  return killed || abandoned ? ExecStatus::Killed : ExecStatus::Error;
}

// What comes after too much is only counted.
void CodeOutcomes::take_text(Retained& stream, const KernelMessage& message) {
  const std::string text = message.text("text");
  if (wrote_too_much())
    stream.skip(text.size());
  else
    stream.add(text);
  if (!message.unasked) written_ += text.size();
}

// The main value goes before what was displayed: where there is no room for it, the last of those make it.
void CodeOutcomes::take_result(KernelMessage message) {
  if (message.body.value("update", false) && replace_displayed(message)) return;
  const bool main = message.body.value("main", false);
  while (main && !fits(message.bytes) && leave_out_displayed()) {
  }
  if (!fits(message.bytes)) {
    ++left_out_;
    return;
  }
  result_bytes_ += message.bytes;
  Json* formats = message.body.find("formats");
  results_.push_back(
      {message.bytes, {main, formats ? std::move(*formats) : Json::object(), message.text("display_id")}});
}

bool CodeOutcomes::fits(size_t size) const {
  return results_.size() < kMostResults && result_bytes_ + size <= kMostResultBytes;
}

bool CodeOutcomes::leave_out_displayed() {
  auto last =
      std::ranges::find_if(results_.rbegin(), results_.rend(), [](const Given& each) { return !each.value.main; });
  if (last == results_.rend()) return false;
  result_bytes_ -= last->size;
  results_.erase(std::next(last).base());
  ++left_out_;
  return true;
}

// False where there is nothing to replace, or no longer: then it is a result as others are.
bool CodeOutcomes::replace_displayed(const KernelMessage& message) {
  const std::string id = message.text("display_id");
  bool found = false;
  for (Given& each : results_) {
    if (id.empty() || each.value.display_id != id) continue;
    found = true;
    if (result_bytes_ - each.size + message.bytes > kMostResultBytes) {
      ++left_out_;
      continue;
    }
    result_bytes_ += message.bytes - each.size;
    each = {message.bytes, {each.value.main, message.body.value("formats", Json::object()), id}};
  }
  return found;
}

// What there was no room for would be gone, too.
void CodeOutcomes::clear_displayed() {
  std::erase_if(results_, [](const Given& each) { return !each.value.main; });
  result_bytes_ = 0;
  for (const Given& each : results_) result_bytes_ += each.size;
  left_out_ = 0;
}

// Where the interpreter has gone with the code, its end is the code's.
void CodeOutcomes::tell_end(ExecResult& result, const ExecResult& interpreter, const std::string& placed) const {
  result.exit_code = interpreter.exit_code;
  result.signal = interpreter.signal;
  if (was_stopped()) return;
  // Even one that ended as if all was well took the context's variables with it.
  result.status = interpreter.status == ExecStatus::Success ? ExecStatus::Error : interpreter.status;
  result.why = with_place(placed, concat(interpreter.why, ", and the context's interpreter with it"));
}

std::string CodeOutcomes::why(ExecStatus status) const {
  const char* stopped = lost ? ", and the context was lost with it" : ", and was interrupted";
  switch (status) {
    case ExecStatus::Timeout:
      if (started_too_late) return "its time was over before its context's interpreter had started: it was not run";
      if (!begun) return "its time was over before its turn in the context came: it was not run";
      return concat("it took too long", stopped);
    case ExecStatus::LimitExceeded:
      return concat("it wrote more than ", format_bytes(limits_.output.value), stopped);
    case ExecStatus::Killed:
      return concat(killed ? "it was ended on request" : "its caller left", stopped);
    case ExecStatus::Success:
      return "it ended";
    default:
      if (status_ == "interrupted") return "it was interrupted";
      return concat("it raised ", error_ ? error_->name : "an error");
  }
}

}  // namespace cove::engine
