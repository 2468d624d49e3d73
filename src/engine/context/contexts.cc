#include "engine/context/contexts.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/id.h"
#include "base/text.h"
#include "context_kernels.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr const char* kTag = "context";
constexpr const char* kFormerTag = "former-context";  // of one that was removed, or has a successor
constexpr milliseconds kStartPatience(30'000);
constexpr milliseconds kTurnPatience(10 * 60'000);  // for others who use the same context
constexpr size_t kMostContexts = 100;               // of a sandbox

struct Kernel {
  std::string_view language;
  std::string_view extension;
  std::string_view program;
};

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> kKernels = {
      {"python", ".py", kPythonProgram},
      {"javascript", ".mjs", kJavascriptProgram},
  };
  return kKernels;
}

Result<const Kernel*> find_kernel(const std::string& language) {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels()) {
    if (kernel.language == language) return &kernel;
    names.emplace_back(kernel.language);
  }
  return fail(Error(Code::Invalid, concat("there are no contexts in '", language, "'"))
                  .hint(concat("there are in ", join(names, " and "))));
}

// "context/python@3.11/NAME": what makes an exec a context.
std::string tag_of(const LanguageWish& language, const std::string& name) {
  return concat(kTag, "/", to_text(language), "/", name);
}

std::optional<ContextInfo> info_of(const ExecInfo& exec) {
  const std::string& tag = exec.order.tag;
  if (!is_context(exec.order)) return std::nullopt;
  size_t language = tag.find('/') + 1;
  size_t name = tag.find('/', language);
  if (name == std::string::npos) return std::nullopt;
  return ContextInfo{exec.id,
                     exec.sandbox_id,
                     tag.substr(language, name - language),
                     tag.substr(name + 1),
                     exec.order.spec.cwd,
                     exec.started_ms,
                     false,
                     exec.order.used};
}

std::unexpected<Error> no_context(const std::string& context) {
  return fail(
      Error(Code::NotFound, concat("there is no context '", context, "' in this sandbox"))
          .hint("its interpreter may have ended, then POST …/restart begins anew; GET …/contexts has those there are"));
}

std::unexpected<Error> ended(const ExecInfo& interpreter) {
  Json result = Json::parse(interpreter.result).value_or(Json());
  std::string why = result.is_object() ? result.value("why", "") : "";
  return fail(Error(Code::Conflict, concat("the interpreter of context ", interpreter.id, " has ended: ", why))
                  .hint(concat("POST …/contexts/", interpreter.id, "/restart begins anew")));
}

bool is_meant(const ContextInfo& info, const std::string& context) {
  return info.id == context || (!info.name.empty() && info.name == context);
}

Result<void> write_kernel(View& view, const std::string& path, std::string_view program) {
  UniqueFd file = COVE_TRY(view.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
  while (!program.empty()) {
    ssize_t count = ::write(file.get(), program.data(), program.size());
    if (count <= 0) return fail_errno(concat("write ", path, " in the sandbox"));
    program.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace

bool is_context_tag(const std::string& tag) { return tag.starts_with(concat(kTag, "/")) || tag == kFormerTag; }
bool is_context(const ExecOrder& order) { return order.tag.starts_with(concat(kTag, "/")); }

namespace {

class LiveExecution : public Execution {
 public:
  LiveExecution(std::shared_ptr<ContextChannel> channel, std::string context, std::shared_ptr<void> use)
      : channel_(std::move(channel)), context_(std::move(context)), use_(std::move(use)), id_(make_id()) {}
  ~LiveExecution() override {
    // Code that nobody waits for any more is stopped: the next one in this context is not to wait for it.
    if (begun_ && !done_) {
      channel_->abandon(id_);
      static_cast<void>(channel_->exec().signal(SIGINT, false));
    }
    channel_->give_turn();
  }

  Result<void> begin(const std::string& code) override {
    unasked_ = COVE_TRY(channel_->hear_unasked());
    Result<void> said = channel_->say({{"id", id_}, {"type", "execute"}, {"code", code}});
    begun_ = said.has_value();
    return said;
  }

  const std::string& id() const override { return id_; }
  const std::string& context() const override { return context_; }
  int fd() const override { return channel_->fd(); }
  Result<void> interrupt() override { return channel_->exec().signal(SIGINT, false); }
  Result<void> kill() override { return channel_->exec().kill(); }
  ExecInfo interpreter() const override { return channel_->exec().info(); }

  Result<std::vector<KernelMessage>> next() override {
    if (!unasked_.empty()) return std::exchange(unasked_, {});
    Result<std::vector<KernelMessage>> messages = channel_->hear();
    if (!messages) {
      done_ = true;
      return messages;
    }
    std::erase_if(*messages, [this](const KernelMessage& message) { return !concerns(message); });
    for (const KernelMessage& message : *messages) done_ = done_ || message.type() == "done";
    return messages;
  }

 private:
  // The kernel's own words, of which it cannot know whom they concern, have no id. What is printed by threads that an
  // earlier execution has left is shown to whoever is there.
  bool concerns(const KernelMessage& message) const {
    if (!message.body.contains("id") || message.text("id") == id_) return true;
    return message.is_output() && !message.abandoned;
  }

  std::shared_ptr<ContextChannel> channel_;
  std::string context_;
  std::shared_ptr<void> use_;  // of the sandbox
  std::string id_;
  std::vector<KernelMessage> unasked_;
  bool begun_ = false;
  bool done_ = false;
};

}  // namespace

Result<ContextInfo> Contexts::create(const Caller& caller, const std::string& sandbox, const ContextOrder& order) {
  if (order.name.empty()) return make(caller, sandbox, order);
  Turns::Turn turn = COVE_TRY(turn_of(caller, sandbox, order.name));
  for (const ContextInfo& there : COVE_TRY(list(caller, sandbox)))
    if (there.name == order.name)
      return fail(Error(Code::Exists, concat("make context '", order.name, "': ", there.id, " has this name"))
                      .hint("use it, restart it, or delete it first"));
  return make(caller, sandbox, order);
}

Result<ContextInfo> Contexts::make(const Caller& caller, const std::string& sandbox, const ContextOrder& order) {
  LanguageWish wish = COVE_TRY(parse_language(engine_.languages().table(), order.language));
  const Kernel* kernel = COVE_TRY(find_kernel(wish.name));
  if (COVE_TRY(list(caller, sandbox)).size() >= kMostContexts)
    return fail(Code::Exhausted, concat("a sandbox has at most ", kMostContexts, " contexts"));
  std::string path = concat("/tmp/.cove-context-", make_id(), kernel->extension);
  Engine::FileLease lease = COVE_TRY(engine_.files(caller, sandbox, order.user, Scope::Run));
  COVE_TRY_NOTE("put the interpreter's kernel into the sandbox", write_kernel(*lease.view, path, kernel->program));
  ExecOrder exec;
  LanguagePlan plan = COVE_TRY(engine_.languages().plan(wish, COVE_TRY(engine_.find(caller, sandbox)).spec.image));
  exec.spec.argv = filled(plan.commands.front().run, {.file = path});
  exec.used = plan.use;
  exec.spec.env = order.env;
  exec.spec.cwd = order.cwd;
  exec.spec.user = order.user;
  exec.limits.timeout.name(milliseconds(0));  // each execution has limits of its own
  exec.limits.output.name(0);
  exec.detached = true;
  exec.tag = tag_of(wish, order.name);
  exec.session = order.session;
  Result<std::shared_ptr<Exec>> started = engine_.exec(caller, sandbox, std::move(exec));
  Result<std::shared_ptr<ContextChannel>> channel =
      started ? ContextChannel::open(*started, 1)
              : Result<std::shared_ptr<ContextChannel>>(std::unexpected(started.error()));
  Result<void> ready = channel ? (*channel)->wait_for_ready(kStartPatience) : std::unexpected(channel.error());
  static_cast<void>(lease.view->remove(path, Depth::One));
  if (!ready) {
    if (started && !(*started)->ended()) static_cast<void>((*started)->kill());
    if (started) static_cast<void>(forget(caller, sandbox, (*started)->info().id));
    return fail(std::move(ready.error()).note(concat("start a context in ", order.language)));
  }
  std::optional<ContextInfo> known = info_of((*started)->info());
  if (!known) {  // it was deleted before it was ready
    if (!(*started)->ended()) static_cast<void>((*started)->kill());
    return no_context(order.name);
  }
  ContextInfo info = std::move(*known);
  // Those that had the name before are not to come back.
  if (!info.name.empty())
    for (const ContextInfo& former : COVE_TRY(list(caller, sandbox, Life::Ended)))
      if (former.name == info.name) COVE_TRY(forget(caller, sandbox, former.id));
  std::lock_guard lock(mutex_);
  held_[info.id] = *channel;
  return info;
}

Result<std::vector<ContextInfo>> Contexts::list(const Caller& caller, const std::string& sandbox, Life life) {
  COVE_TRY(engine_.find(caller, sandbox));  // execs outlive it, contexts do not
  Engine::ExecFilter filter;
  filter.state = life == Life::Living ? ExecState::Running : ExecState::Ended;
  filter.tag_begins = concat(kTag, "/");
  std::vector<ContextInfo> contexts;
  std::string after;
  do {
    Page<ExecInfo> page = COVE_TRY(engine_.list_execs(caller, sandbox, filter, after, 1000));
    for (const ExecInfo& exec : page.items)
      if (std::optional<ContextInfo> info = info_of(exec)) contexts.push_back(std::move(*info));
    after = page.next;
  } while (!after.empty());
  return contexts;
}

Result<std::vector<ContextInfo>> Contexts::list(const Caller& caller, const std::string& sandbox) {
  std::vector<ContextInfo> contexts = COVE_TRY(list(caller, sandbox, Life::Living));
  std::lock_guard lock(mutex_);
  for (ContextInfo& info : contexts) {
    auto held = held_.find(info.id);
    info.busy = held != held_.end() && held->second->busy();
  }
  return contexts;
}

Result<ContextInfo> Contexts::find(const Caller& caller, const std::string& sandbox, const std::string& context) {
  for (ContextInfo& info : COVE_TRY(list(caller, sandbox)))
    if (is_meant(info, context)) return std::move(info);
  return no_context(context);
}

// The last one, where several had the name.
Result<std::optional<ContextInfo>> Contexts::find_ended(const Caller& caller, const std::string& sandbox,
                                                        const std::string& context) {
  std::optional<ContextInfo> found;
  for (ContextInfo& info : COVE_TRY(list(caller, sandbox, Life::Ended)))
    if (is_meant(info, context)) found = std::move(info);
  return found;
}

Result<Turns::Turn> Contexts::turn_of(const Caller& caller, const std::string& sandbox, const std::string& name) {
  std::string turn = concat(COVE_TRY(engine_.find(caller, sandbox)).spec.id, "/", name);
  if (auto taken = making_.take_within(turn, kStartPatience)) return std::move(*taken);
  return fail(
      Error(Code::Unavailable, concat("start context '", name, "' in ", sandbox,
                                      ": somebody else has been starting it for ", kStartPatience.count() / 1000, " s"))
          .hint("see what its interpreter does at its start, or try again"));
}

// It is no context any more, only an exec.
Result<void> Contexts::forget(const Caller& caller, const std::string& sandbox, const std::string& id) {
  {
    std::lock_guard lock(mutex_);
    held_.erase(id);
  }
  return engine_.retag_exec(caller, sandbox, id, kFormerTag);
}

Result<void> Contexts::remove(const Caller& caller, const std::string& sandbox, const std::string& context) {
  Result<ContextInfo> info = find(caller, sandbox, context);
  if (!info) {
    std::optional<ContextInfo> old = COVE_TRY(find_ended(caller, sandbox, context));
    return old ? forget(caller, sandbox, old->id) : std::unexpected(info.error());
  }
  std::shared_ptr<Exec> exec = COVE_TRY(engine_.find_exec(caller, sandbox, info->id, Scope::Run));
  // Until it is forgotten it can be deleted again, whatever comes in between.
  if (!exec->ended()) COVE_TRY(exec->kill());
  return forget(caller, sandbox, info->id);
}

// The old one is forgotten last: until then it can be tried again.
Result<ContextInfo> Contexts::start_anew(const Caller& caller, const std::string& sandbox, const ContextInfo& old) {
  std::shared_ptr<Exec> exec = COVE_TRY(engine_.find_exec(caller, sandbox, old.id, Scope::Run));
  const ExecOrder order = exec->info().order;
  if (!exec->ended()) COVE_TRY(exec->kill());
  ContextInfo made = COVE_TRY(
      make(caller, sandbox, {old.language, old.name, order.spec.cwd, order.spec.env, order.spec.user, order.session}));
  COVE_TRY(forget(caller, sandbox, old.id));
  return made;
}

Result<ContextInfo> Contexts::restart(const Caller& caller, const std::string& sandbox, const std::string& context) {
  std::shared_ptr<void> use = COVE_TRY(engine_.use(caller, sandbox));
  std::string name = COVE_TRY(find_any(caller, sandbox, context)).name;
  if (name.empty()) return start_anew(caller, sandbox, COVE_TRY(find_any(caller, sandbox, context)));
  // Who waited for the turn looks again.
  Turns::Turn turn = COVE_TRY(turn_of(caller, sandbox, name));
  return start_anew(caller, sandbox, COVE_TRY(find_any(caller, sandbox, context)));
}

Result<ContextInfo> Contexts::find_any(const Caller& caller, const std::string& sandbox, const std::string& context) {
  Result<ContextInfo> living = find(caller, sandbox, context);
  if (living || living.error().code() != Code::NotFound) return living;
  std::optional<ContextInfo> old = COVE_TRY(find_ended(caller, sandbox, context));
  return old ? std::move(*old) : std::move(living);
}

// One that has ended by itself begins anew where it is known by its name: whoever has its id has it of an interpreter
// that is gone.
Result<ContextInfo> Contexts::find_or_revive(const Caller& caller, const std::string& sandbox,
                                             const std::string& context) {
  Result<ContextInfo> living = find(caller, sandbox, context);
  if (living || living.error().code() != Code::NotFound) return living;
  std::optional<ContextInfo> old = COVE_TRY(find_ended(caller, sandbox, context));
  if (!old) return living;
  if (old->name != context) return ended(COVE_TRY(engine_.find_exec(caller, sandbox, old->id, Scope::Read))->info());
  Turns::Turn turn = COVE_TRY(turn_of(caller, sandbox, old->name));
  // Who waited for the turn looks again.
  living = find(caller, sandbox, context);
  if (living || living.error().code() != Code::NotFound) return living;
  old = COVE_TRY(find_ended(caller, sandbox, context));
  return old ? start_anew(caller, sandbox, *old) : living;
}

Result<void> Contexts::interrupt(const Caller& caller, const std::string& sandbox, const std::string& context) {
  ContextInfo info = COVE_TRY(find(caller, sandbox, context));
  return COVE_TRY(engine_.find_exec(caller, sandbox, info.id, Scope::Run))->signal(SIGINT, false);
}

// One that an earlier server made is followed from where it is now.
Result<std::shared_ptr<ContextChannel>> Contexts::channel(const Caller& caller, const std::string& sandbox,
                                                          const std::string& context) {
  std::shared_ptr<Exec> exec = COVE_TRY(engine_.find_exec(caller, sandbox, context, Scope::Run));
  std::lock_guard lock(mutex_);
  // Those that have ended are let go of on this occasion.
  std::erase_if(held_, [](const auto& each) { return !each.second->busy() && each.second->exec().ended(); });
  auto held = held_.find(context);
  if (held != held_.end()) return held->second;
  std::shared_ptr<ContextChannel> channel = COVE_TRY(ContextChannel::open(exec, exec->info().next_seq));
  held_[context] = channel;
  return channel;
}

Result<std::unique_ptr<Execution>> Contexts::enter(const Caller& caller, const ContextInfo& context,
                                                   const TurnWait& wait) {
  std::shared_ptr<void> use = COVE_TRY(engine_.use(caller, context.sandbox_id));
  std::shared_ptr<ContextChannel> used = COVE_TRY(channel(caller, context.sandbox_id, context.id));
  auto is_over = [&] { return (wait.until && Clock::now() >= *wait.until) || !wait.is_wanted(); };
  Clock::time_point until = Clock::now() + kTurnPatience;
  if (wait.until) until = std::min(until, *wait.until);
  if (!used->take_turn(until, wait.is_wanted)) {
    if (is_over()) return std::unique_ptr<Execution>();
    return fail(Error(Code::Conflict, concat("context ", context.id, " is busy")).hint("interrupt what runs in it"));
  }
  // Whoever waited may have gone meanwhile: his code is not run.
  if (is_over()) {
    used->give_turn();
    return std::unique_ptr<Execution>();
  }
  return std::make_unique<LiveExecution>(used, context.id, std::move(use));
}

Result<ContextInfo> Contexts::find_or_create(const Caller& caller, const std::string& sandbox,
                                             const ContextOrder& order) {
  Turns::Turn turn = COVE_TRY(turn_of(caller, sandbox, order.name));
  Result<ContextInfo> there = find(caller, sandbox, order.name);
  if (there || there.error().code() != Code::NotFound) return there;
  return make(caller, sandbox, order);
}

}  // namespace cove::engine
