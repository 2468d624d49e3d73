#include "run/verdict.h"

#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>

#include "base/encoding.h"
#include "base/text.h"
#include "model/figures.h"

namespace cove {
namespace {

constexpr std::string_view kFullDisk = "the disk is full: writing to it fails";
constexpr std::string_view kLargeFile = "a file became too large";

// "500ms", "90s".
std::string duration_text(std::chrono::milliseconds duration) {
  const int64_t milliseconds = duration.count();
  return milliseconds % 1000 == 0 ? concat(milliseconds / 1000, "s") : concat(milliseconds, "ms");
}

void explain(ExecResult& result, const ExecEnded& end, Cause cause, const Limits& limits) {
  bool killed = result.signal == SIGKILL || result.exit_code == 128 + SIGKILL;
  if (cause == Cause::Timeout) {
    result.status = ExecStatus::Timeout;
    result.why = concat("timed out after ", duration_text(limits.timeout.value));
  } else if (cause == Cause::Output) {
    result.status = ExecStatus::LimitExceeded;
    result.why = concat("exceeded the output limit of ", format_bytes(limits.output.value));
  } else if (end.oom_kills > 0 && killed) {
    result.status = ExecStatus::OomKilled;
    result.why = concat("exceeded the memory limit of ", format_bytes(limits.memory.value));
  } else if (cause == Cause::Killed) {
    result.status = ExecStatus::Killed;
    result.why = "killed on request";
  } else if (result.signal) {
    result.status = ExecStatus::Killed;
    result.why = concat("killed by signal ", *result.signal, " (", ::strsignal(*result.signal), ")");
  } else if (*result.exit_code != 0) {
    result.status = ExecStatus::Error;
    result.why = concat(result.phase == Phase::Compile ? "compilation failed: the compiler" : "it",
                        " ended with exit code ", *result.exit_code);
  } else {
    result.status = ExecStatus::Success;
    result.why = "it ended with exit code 0";
  }
}

std::string limit_is(uint64_t bytes) { return concat("the limit is ", format_bytes(bytes)); }

// Shortens a long command, which the caller knows anyway.
std::string without_middle(const std::string& text) {
  constexpr size_t kHead = 500, kTail = 300;
  if (text.size() <= kHead + kTail) return text;
  return concat(text.substr(0, kHead), " … ", text.substr(text.size() - kTail));
}

Denial left_out_figures(uint64_t count) {
  return {concat(count, count == 1 ? " figure was" : " figures were", " left out"),
          concat("at most ", kMostFigures, " figures of ", format_bytes(kMostOfFigure), " each and ",
                 format_bytes(kMostOfFigures), " in total are returned; stderr names those that cannot be drawn")};
}

// A full disk is irrelevant for a program that neither wrote to it nor failed.
bool met_full_disk(const ExecResult& result, const ExecEnded& end) {
  return end.full_disk > 0 && (end.usage.disk_written_bytes > 0 || result.exit_code != 0);
}

}  // namespace

void judge(ExecResult& result, const ExecEnded& end, Cause cause, const Limits& limits) {
  for (const std::string& figure : end.figures) result.results.push_back({false, {{"png", to_base64(figure)}}});
  result.phase = end.phase;
  result.usage = end.usage;
  if (WIFSIGNALED(end.wait_status))
    result.signal = WTERMSIG(end.wait_status);
  else
    result.exit_code = WEXITSTATUS(end.wait_status);
  if (end.refused_forks > 0)
    result.denials.push_back({concat(end.refused_forks, " times a process or thread could not be started"),
                              concat("the limit is ", limits.processes.value)});
  if (end.figures_left_out > 0) result.denials.push_back(left_out_figures(end.figures_left_out));
  if (met_full_disk(result, end)) result.denials.push_back({std::string(kFullDisk), limit_is(end.full_disk)});
  if (result.signal == SIGXFSZ) result.denials.push_back({std::string(kLargeFile), limit_is(limits.file_size.value)});
  explain(result, end, cause, limits);
}

void note_reported_limits(ExecResult& result, const Limits& limits) {
  constexpr size_t kLooked = 64 << 10;
  std::string said = result.err.data.substr(result.err.data.size() - std::min(result.err.data.size(), kLooked));
  std::ranges::transform(said, said.begin(), [](unsigned char c) { return std::tolower(c); });
  auto note = [&](std::initializer_list<std::string_view> words, std::string_view what, const std::string& why) {
    const bool reported = std::ranges::any_of(words, [&](auto each) { return said.find(each) != said.npos; });
    const bool known = std::ranges::any_of(result.denials, [&](const Denial& each) { return each.what == what; });
    if (reported && !known) result.denials.push_back({std::string(what), why});
  };
  note({"too many open files"}, "a file could not be opened: too many open files",
       concat("the limit is ", limits.open_files.value, " for each process"));
  if (limits.file_size.value > 0)
    note({"file too large", "file size limit exceeded"}, kLargeFile, limit_is(limits.file_size.value));
  const auto disk = result.limits.find("disk");
  const bool disk_enforced = disk != result.limits.end() && disk->second.enforced_by != "nothing";
  if (limits.disk.value > 0 && disk_enforced)
    note({"no space left on device", "disk quota exceeded"}, kFullDisk, limit_is(limits.disk.value));
}

void judge(ExecResult& result, const ExecFailed& failure) {
  result.status = ExecStatus::Error;
  result.exit_code = failure.exit_code;
  result.phase = failure.phase;
  result.started = false;
  result.why = without_middle(failure.error.message());
  if (!failure.error.hint().empty()) result.why += concat(" (", failure.error.hint(), ")");
}

}  // namespace cove
