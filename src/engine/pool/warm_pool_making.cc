// How a pool's sandboxes are made, and the interpreters in them.
#include <poll.h>

#include <algorithm>

#include "base/id.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/pool/warm_pool.h"
#include "image/catalogue.h"
#include "model/figures.h"
#include "run/environment.h"
#include "run/working_folder.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTurn(250);  // until a gap is noticed that no one is in a hurry about
constexpr seconds kLookPeriod(1);   // at the machine's memory, and at what is no longer wanted
constexpr milliseconds kStartPatience(10'000);
constexpr seconds kRest(10);           // of a kind that cannot be made: perhaps the machine has no room
constexpr uint64_t kTightMemory = 10;  // of a hundred parts; below that nothing is kept ready

bool is_tight(const MachineRoom& room) {
  return room.memory > 0 && room.memory_available * 100 < room.memory * kTightMemory;
}

// Until the program has done all that it can.
Result<void> wait_for_program(Sandbox& sandbox, const std::string& exec_id) {
  auto until = std::chrono::steady_clock::now() + kStartPatience;
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
  while (!stopping_) {
    const Clock::Time now = clock_.now();
    if (now - looked_after_ > kLookPeriod) {
      looked_after_ = now;
      lock.unlock();
      look_after();
      lock.lock();
      continue;
    }
    auto next = next_to_make();
    if (next == kinds_.end()) {
      clock_.wait_until(changed_, lock, now < paused_until_ ? paused_until_ : now + kTurn);
      continue;
    }
    // It stays where it is as long as one of it is being made.
    auto& [key, kind] = *next;
    ++kind.making;
    const SandboxSpec model = kind.model;
    lock.unlock();
    Result<Blank> blank = make(key, model);
    room_.refresh();  // for whoever takes the next one
    lock.lock();
    keep(kind, std::move(blank));
  }
}

void WarmPool::look_after() {
  const bool tight = is_tight(room_.measure());
  std::vector<Blank> superfluous;
  {
    std::lock_guard lock(mutex_);
    short_of_memory_ = tight;
    superfluous = take_superfluous();
  }
  end(std::move(superfluous));
}

// It, or that there is none.
void WarmPool::keep(Kind& kind, Result<Blank> blank) {
  --kind.making;
  if (blank) return kind.ready.push_back(std::move(*blank));
  kind.rest_until = clock_.now() + kRest;
  log::info("no sandbox could be made to be kept ready",
            {{"image", kind.model.image}, {"why", blank.error().message()}});
}

Result<Blank> WarmPool::make(const Key& key, const SandboxSpec& model) {
  Blank blank = COVE_TRY(make_blank(model));
  if (!runtime_.capabilities().waiting_scripts) return blank;
  Result<void> usable = start_waiting(blank, key.language);
  if (usable) return blank;
  destroy(blank);
  return std::unexpected(usable.error());
}

void WarmPool::destroy(Blank& blank) {
  if (networks_) networks_->end(blank.spec.id), networks_->forget(blank.spec.id);
  static_cast<void>(blank.handle->destroy(Files::Remove));
}

// A sandbox in which nothing waits yet.
Result<Blank> WarmPool::make_blank(const SandboxSpec& model) {
  Blank blank;
  blank.spec = model;
  blank.spec.id = make_id();
  blank.handle = COVE_TRY(runtime_.create(blank.spec));
  Result<void> usable = blank.handle->ready();
  if (usable) usable = make_working_folder(*blank.handle, blank.spec);
  if (usable && networks_ && has_network(model.network))
    usable = networks_->prepare(blank.spec.id, [&] { return blank.handle->open_network(); });
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
  tell_preview_url(spec.env, config_.preview.site, sandbox.id);
  if (wish.name == kPython) want_figures(spec.env);
  find_figures_module(spec.env);
  spec.input = false;
  spec.script_follows = true;
  return spec;
}

Result<void> WarmPool::start_waiting(Blank& blank, const std::string& language) {
  ExecSpec spec;
  if (language.empty()) {
    spec.argv = {"-"};
    spec.command_follows = true;
  } else {
    spec = COVE_TRY(interpreter(blank.spec, language));
    blank.script = spec.argv.back();
  }
  if (spec.id.empty()) spec.id = make_id();
  spec.cwd = blank.spec.image_defaults.cwd;
  blank.language = language;
  blank.exec_id = spec.id;
  blank.streams = COVE_TRY(blank.handle->exec(spec));
  return wait_for_program(*blank.handle, spec.id);
}

void WarmPool::end(std::vector<Blank> blanks) {
  for (Blank& blank : blanks)
    if (blank.handle) destroy(blank);
}

}  // namespace cove::engine
