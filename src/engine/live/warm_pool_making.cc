// How a pool's sandboxes are made, and the interpreters in them.
#include <poll.h>

#include <algorithm>

#include "base/id.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/environment.h"
#include "engine/live/warm_pool.h"
#include "engine/working_folder.h"
#include "image/catalogue.h"
#include "model/figures.h"

namespace cove::live {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTurn(250);
constexpr milliseconds kStartPatience(10'000);
constexpr milliseconds kCallersPatience(500);  // with a copy; a start takes as long at most
constexpr seconds kShortestRest(1);            // of a class that cannot be made: the machine has no room, perhaps
constexpr seconds kLongestRest(60);
constexpr uint64_t kTightMemory = 10;  // of a hundred parts; below that nothing is kept ready

bool is_tight(const MachineRoom& room) {
  return room.memory > 0 && room.memory_available * 100 < room.memory * kTightMemory;
}

// An interpreter that has nothing of its own which no other may have says so by this text in its memory, put together
// there: see context/python_start.py.
constexpr std::string_view kMayBeCopied = "cove: nothing here is of one process only; hashes of ";

// Until the program has done all that it can.
Result<void> wait_for_program(Sandbox& sandbox, const std::string& exec_id, milliseconds patience) {
  auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    std::optional<Event> event = COVE_TRY(sandbox.next_event());
    if (event) {
      if (auto* waiting = std::get_if<ExecWaiting>(&*event); waiting && waiting->exec_id == exec_id) return {};
      if (auto* failed = std::get_if<ExecFailed>(&*event)) return fail(failed->error);
      return fail(Code::Unavailable, "the program ended instead of waiting");
    }
    auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd polled = {sandbox.events_fd(), POLLIN, 0};
    if (left <= 0 || ::poll(&polled, 1, static_cast<int>(left)) <= 0)
      return fail(Code::Unavailable, "the program does not begin to wait");
  }
}

}  // namespace

void WarmPool::refill() {
  std::unique_lock lock(mutex_);
  Clock::time_point looked{};
  while (!stopping_) {
    if (Clock::now() - looked > seconds(1)) {
      looked = Clock::now();
      lock.unlock();
      bool tight = is_tight(room_.measure());
      lock.lock();
      short_of_memory_ = tight;
      std::vector<Blank> superfluous = take_superfluous();
      lock.unlock();
      end(std::move(superfluous));
      lock.lock();
    }
    std::optional<Wish> wish = next_wish();
    if (!wish) {
      changed_.wait_until(lock, Clock::now() < undisturbed_until_ ? undisturbed_until_ : Clock::now() + kTurn);
      continue;
    }
    ++classes_[wish->class_name].making[wish->language];
    choose_copy(*wish);
    lock.unlock();
    Result<Blank> blank = make(*wish);
    room_.refresh();  // for whoever takes the next one
    lock.lock();
    keep(*wish, std::move(blank));
  }
}

// It, or that there is none.
void WarmPool::keep(const Wish& wish, Result<Blank> blank) {
  Class& made_for = classes_[wish.class_name];
  --made_for.making[wish.language];
  if (blank) {
    made_for.failures = 0;
    numbers_.copies += blank->copied ? 1 : 0;
    made_for.ready[wish.language].push_back(std::move(*blank));
  } else if (!wish.language.empty()) {
    cannot_wait_.insert({wish.class_name, wish.language});
  } else if (Clock::time_point now = Clock::now(); now >= made_for.rest_until) {
    // Those that were under way when it was found out count as one with it.
    made_for.rest_until = now + std::min(kLongestRest, kShortestRest * (1U << std::min(made_for.failures, 6U)));
    ++made_for.failures;
  }
}

CopyShelf* WarmPool::shelf_of(const Wish& wish) {
  auto found = classes_.find(wish.class_name);
  if (found == classes_.end()) return nullptr;
  return &found->second.copies.try_emplace(wish.language, config_.pool.copies).first->second;
}

// Where nobody had to do without, each interpreter is started by itself. Only the host image's say whether they may be
// copied (context/python_start.py).
bool WarmPool::may_copy(const Wish& wish) const {
  auto found = classes_.find(wish.class_name);
  return !wish.language.empty() && is_host_image(wish.model.image) && runtime_.capabilities().copies &&
         found != classes_.end() && Clock::now() < found->second.short_until;
}

void WarmPool::choose_copy(Wish& wish) {
  if (may_copy(wish)) wish.copy = shelf_of(wish)->take(Clock::now());
}

// False where that was the end of the interpreter, or may have been.
bool WarmPool::copy_for_others(const Wish& wish, Blank& blank) {
  {
    std::lock_guard lock(mutex_);
    CopyShelf* shelf = shelf_of(wish);
    if (!may_copy(wish) || !shelf || !shelf->is_open(Clock::now())) return true;
  }
  Result<UniqueFd> copy = blank.handle->copy_waiting(blank.exec_id, kMayBeCopied);
  if (!copy) return give_copies_up(wish, copy.error()), false;
  std::lock_guard lock(mutex_);
  if (CopyShelf* shelf = shelf_of(wish))
    shelf->put({std::make_shared<const UniqueFd>(std::move(*copy)), blank.script}, Clock::now());
  return true;
}

void WarmPool::give_copies_up(const Wish& wish, const Error& why) {
  log::info("interpreters are started, and not copied", {{"language", wish.language}, {"why", why.message()}});
  std::lock_guard lock(mutex_);
  if (CopyShelf* shelf = shelf_of(wish)) shelf->give_up(Clock::now());
}

// While he waits: it costs him less than the start of an interpreter later.
std::optional<Blank> WarmPool::make_for_caller(const Wish& wish) {
  Result<Blank> blank = make_blank(wish);
  if (!blank) return std::nullopt;
  Result<void> usable = start_waiting(*blank, wish, kCallersPatience);
  if (!usable) {
    give_copies_up(wish, usable.error());
    static_cast<void>(blank->handle->destroy(Files::Remove));
    return std::nullopt;
  }
  std::lock_guard lock(mutex_);
  ++numbers_.copies;
  return std::move(*blank);
}

Result<Blank> WarmPool::make(const Wish& wish) {
  Blank blank = COVE_TRY(make_blank(wish));
  if (!runtime_.capabilities().waiting_scripts) return blank;
  Result<void> usable = start_waiting(blank, wish, kStartPatience);
  if (!usable && wish.copy) give_copies_up(wish, usable.error());
  const bool whole = usable && (wish.copy || copy_for_others(wish, blank));
  if (whole) return blank;
  static_cast<void>(blank.handle->destroy(Files::Remove));
  if (!usable && !wish.copy) return std::unexpected(usable.error());
  // Another one, for which no copy is used or made: none is for a while.
  return make({wish.class_name, wish.language, wish.model, std::nullopt});
}

// A sandbox in which nothing waits yet.
Result<Blank> WarmPool::make_blank(const Wish& wish) {
  Blank blank;
  blank.spec = wish.model;
  blank.spec.id = make_id();
  blank.handle = COVE_TRY(runtime_.create(blank.spec));
  Result<void> usable = blank.handle->ready();
  if (usable) usable = make_working_folder(*blank.handle, blank.spec);
  if (usable) return blank;
  static_cast<void>(blank.handle->destroy(Files::Remove));
  return std::unexpected(usable.error());
}

// With its script as the last argument; what is run otherwise cannot wait.
Result<ExecSpec> WarmPool::interpreter(const SandboxSpec& sandbox, const std::string& language) {
  LanguageWish wish = COVE_TRY(
      parse_language(languages_.table(), language.ends_with('@') ? language.substr(0, language.size() - 1) : language));
  const Language* known = COVE_TRY(find_language(languages_.table(), wish.name));
  LanguagePlan plan = COVE_TRY(languages_.plan(wish, sandbox.image));
  const CommandLine& command = plan.commands.front();
  if (plan.commands.size() != 1 || !command.compile.empty() || command.run.back() != "{file}")
    return fail(Code::Unsupported, concat(wish.name, " has no interpreter that waits for a script"));
  ExecSpec spec;
  spec.id = make_id();
  spec.argv = filled(command.run, {.file = script_path(spec.id, known->extension)});
  spec.env = base_environment(sandbox);
  if (wish.name == kPython && is_host_image(sandbox.image)) want_figures(spec.env);
  spec.input = false;
  spec.script_follows = true;
  return spec;
}

Result<void> WarmPool::start_waiting(Blank& blank, const Wish& wish, milliseconds patience) {
  const std::string& language = wish.language;
  ExecSpec spec;
  if (language.empty()) {
    spec.argv = {"-"};
    spec.command_follows = true;
  } else {
    spec = COVE_TRY(interpreter(blank.spec, language));
    if (wish.copy) spec.argv.back() = wish.copy->script;
    blank.script = spec.argv.back();
  }
  if (spec.id.empty()) spec.id = make_id();
  spec.cwd = blank.spec.image_defaults.cwd;
  blank.language = language;
  blank.exec_id = spec.id;
  blank.copied = wish.copy.has_value();
  blank.streams = COVE_TRY(wish.copy ? blank.handle->exec_copy(spec, *wish.copy->file) : blank.handle->exec(spec));
  return wait_for_program(*blank.handle, spec.id, patience);
}

void WarmPool::end(std::vector<Blank> blanks) {
  for (Blank& blank : blanks)
    if (blank.handle) static_cast<void>(blank.handle->destroy(Files::Remove));
}

}  // namespace cove::live
