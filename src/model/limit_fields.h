#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/limits.h"

// The one table of limits. Requests and answers, records, the channel to cove-spawn, the classes of the pool, settings
// and options of the command line all go by it: a new limit is a member of Limits, a row here, and what enforces it.
namespace cove {

enum class LimitKind { Number, Bytes, BytesPerSecond, Count, Duration };

// What a limit is a limit of, and so who can hold it.
enum class LimitOf {
  Sandbox,  // all its programs together
  Process,  // each of its programs, from its start on
  Exec,     // one exec, or how its end is reported; each exec can have its own
};

// When a sandbox's limit can be changed.
enum class LimitChange { Anytime, WhileStopped };

// What zero means.
enum class LimitZero {
  Unlimited,
  UnlimitedForLocal,  // callers with keys may not ask for that, nor can it be had in a sandbox that runs
  Chosen,             // what suits
  Nothing,            // none of it
  Refused,
};

struct LimitField {
  std::string_view name;  // in requests, answers, records and settings
  LimitKind kind;
  LimitOf of;
  // Exactly one of these.
  Limit<double> Limits::* number = nullptr;
  Limit<uint64_t> Limits::* count = nullptr;
  Limit<std::chrono::milliseconds> Limits::* time = nullptr;

  LimitZero zero = LimitZero::Unlimited;
  LimitChange change = LimitChange::Anytime;
  double least = 0;          // that can be asked for: below it nothing can run, or the kernel refuses it
  uint64_t highest = 0;      // count that can be set as a default; 0: any
  std::string_view setting;  // what `limits.NAME` is, for the list of settings
  std::string_view capped;   // what `maxima.NAME` is the most of; empty: the administrator cannot set a maximum

  // The option of the command line; none where that is empty.
  std::string_view option = "";
  char letter = '\0';
  std::string_view argument = "";  // "SIZE"; "nofile=N" takes N behind the word
  std::string_view help = "";
};

inline constexpr LimitField kLimitFields[] = {
    {.name = "cpus",
     .kind = LimitKind::Number,
     .of = LimitOf::Sandbox,
     .number = &Limits::cpus,
     .zero = LimitZero::UnlimitedForLocal,
     .least = 0.01,
     .setting = "CPUs of a sandbox that names no number.",
     .capped = "CPUs",
     .option = "cpus",
     .argument = "NUMBER",
     .help = "like 0.5 (default: 1)"},
    {.name = "memory",
     .kind = LimitKind::Bytes,
     .of = LimitOf::Sandbox,
     .count = &Limits::memory,
     .zero = LimitZero::UnlimitedForLocal,
     .least = 4 * kMiB,
     .setting = "Memory of a sandbox.",
     .capped = "memory",
     .option = "memory",
     .letter = 'm',
     .argument = "SIZE",
     .help = "like 512m (default: 2g)"},
    {.name = "swap",
     .kind = LimitKind::Bytes,
     .of = LimitOf::Sandbox,
     .count = &Limits::swap,
     .zero = LimitZero::Nothing,
     .setting = "Swap of a sandbox beyond its memory; 0: none.",
     .capped = "swap",
     .option = "swap",
     .argument = "SIZE",
     .help = "swap beyond the memory (default: none)"},
    {.name = "disk",
     .kind = LimitKind::Bytes,
     .of = LimitOf::Sandbox,
     .count = &Limits::disk,
     .zero = LimitZero::Chosen,
     .change = LimitChange::WhileStopped,
     .least = 64 * kKiB,
     .setting = "Disk of a sandbox; 0: what suits the kind of its layer.",
     .capped = "disk",
     .option = "disk",
     .argument = "SIZE",
     .help = "what may be written (default: 10g on disk; 1g of memory\nfor a single run)"},
    {.name = "inodes",
     .kind = LimitKind::Count,
     .of = LimitOf::Sandbox,
     .count = &Limits::inodes,
     .change = LimitChange::WhileStopped,
     .setting = "Files and folders that a sandbox may make; 0: as its disk allows."},
    {.name = "processes",
     .kind = LimitKind::Count,
     .of = LimitOf::Sandbox,
     .count = &Limits::processes,
     .zero = LimitZero::UnlimitedForLocal,
     .least = 1,
     .highest = 4'194'304,
     .setting = "Processes and threads of a sandbox.",
     .capped = "processes and threads",
     .option = "pids-limit",
     .argument = "NUMBER",
     .help = "processes and threads (default: 1024)"},
    {.name = "open_files",
     .kind = LimitKind::Count,
     .of = LimitOf::Process,
     .count = &Limits::open_files,
     .zero = LimitZero::Refused,
     .least = 16,
     .highest = 1'048'576,
     .setting = "Open files of each process.",
     .option = "ulimit",
     .argument = "nofile=N",
     .help = "open files of a process (default: 1024)"},
    {.name = "file_size",
     .kind = LimitKind::Bytes,
     .of = LimitOf::Process,
     .count = &Limits::file_size,
     .setting = "The largest file; 0: as the disk allows.",
     .option = "file-size",
     .argument = "SIZE",
     .help = "of any one file (default: none)"},
    {.name = "io_read",
     .kind = LimitKind::BytesPerSecond,
     .of = LimitOf::Sandbox,
     .count = &Limits::io_read,
     .change = LimitChange::WhileStopped,
     .setting = "Bytes per second read from disk; 0: no limit.",
     .option = "io-read",
     .argument = "SIZE",
     .help = "bytes a second from disk (default: none)"},
    {.name = "io_write",
     .kind = LimitKind::BytesPerSecond,
     .of = LimitOf::Sandbox,
     .count = &Limits::io_write,
     .change = LimitChange::WhileStopped,
     .setting = "Bytes per second written to disk; 0: no limit.",
     .option = "io-write",
     .argument = "SIZE",
     .help = "bytes a second to disk (default: none)"},
    {.name = "timeout",
     .kind = LimitKind::Duration,
     .of = LimitOf::Exec,
     .time = &Limits::timeout,
     .setting = "How long an exec may take; 0: no limit.",
     .option = "timeout",
     .argument = "TIME",
     .help = "wall clock, like 30s or 5m (default: none)"},
    {.name = "grace",
     .kind = LimitKind::Duration,
     .of = LimitOf::Exec,
     .time = &Limits::grace,
     .zero = LimitZero::Nothing,
     .setting = "Time between SIGTERM and SIGKILL."},
    {.name = "output",
     .kind = LimitKind::Bytes,
     .of = LimitOf::Exec,
     .count = &Limits::output,
     .setting = "Output after which an exec is killed; 0: no limit.",
     .option = "max-output",
     .argument = "SIZE",
     .help = "of stdout and stderr, then it is killed (default: none)"},
    {.name = "retained",
     .kind = LimitKind::Bytes,
     .of = LimitOf::Exec,
     .count = &Limits::retained,
     .zero = LimitZero::Nothing,
     .setting = "How much of each stream a result holds."},
};

// Calls `visit(field, limits.member...)` with the same limit of each.
template <typename Visit, typename... SomeLimits>
void visit_limit(const LimitField& field, Visit&& visit, SomeLimits&... limits) {
  if (field.number)
    visit(field, limits.*field.number...);
  else if (field.count)
    visit(field, limits.*field.count...);
  else
    visit(field, limits.*field.time...);
}
template <typename Visit, typename... SomeLimits>
void visit_limits(Visit&& visit, SomeLimits&... limits) {
  for (const LimitField& field : kLimitFields) visit_limit(field, visit, limits...);
}

// nullptr where there is none.
const LimitField* find_limit_field(std::string_view name);

// What it is called in JSON that is answered, and in that of records.
std::string api_name(const LimitField& field);
std::string record_name(const LimitField& field);

// A limit as a number: bytes, milliseconds.
double to_number(double value);
double to_number(uint64_t value);
double to_number(std::chrono::milliseconds value);

// As people write it: "2 GiB", "500 ms".
std::string limit_text(const LimitField& field, double value);
std::string limit_text(const LimitField& field, uint64_t value);
std::string limit_text(const LimitField& field, std::chrono::milliseconds value);

}  // namespace cove
