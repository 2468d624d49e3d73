#include "engine/pool/warm_pool.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "engine/quota/admission.h"
#include "model/limit_fields.h"
#include "model/runtime_kind.h"
#include "model/sandbox_fields.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr unsigned kFewestThreads = 2;
constexpr unsigned kMostThreads = 8;
// The rule of warm_pool.h. Ten minutes: someone who works with sandboxes comes back before that, and what waits in vain
// costs memory no longer.
constexpr minutes kKept(10);
constexpr size_t kOtherKinds = 4;
// After one was taken, its first exec comes, and should not have to share the CPUs with the making of the next. An exec
// of a short command has ended by then.
constexpr milliseconds kPause(20);

std::string exact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}
std::string exact(uint64_t value) { return std::to_string(value); }
std::string exact(milliseconds value) { return std::to_string(value.count()); }

std::string exact(bool value) { return value ? "1" : "0"; }
// No text reads as two.
std::string exact(const std::string& text) { return concat(text.size(), ":", text); }
std::string exact(const std::vector<std::string>& texts) {
  std::string all = concat(texts.size());
  for (const std::string& text : texts) all += concat(" ", exact(text));
  return all;
}
template <typename T>
  requires std::is_enum_v<T>
std::string exact(T choice) {
  return std::to_string(static_cast<int>(choice));
}

// An exec's own are not its sandbox's.
std::string exact(const Limits& limits) {
  std::string text;
  auto add = [&](const LimitField& field, const auto& limit) {
    if (field.of != LimitOf::Exec) text += concat(" ", exact(limit.value), limit.named ? "!" : "");
  };
  visit_limits(add, limits);
  return text;
}

// What a network lets through is set when the sandbox is handed out.
std::string exact(const NetworkPolicy& network) { return exact(has_network(network)); }

NetworkPolicy class_model(const NetworkPolicy& network) {
  return has_network(network) ? NetworkPolicy{.tier = NetworkTier::Standard, .enabled = true} : NetworkPolicy();
}

// What decides about the class of a value, field by field.
template <Listed T>
std::string exact(const T& value) {
  std::string text;
  auto add = [&](const Field& field, const auto& member) {
    if constexpr (requires { exact(member); })
      if (field.pool == Pool::Class) text += concat(text.empty() ? "" : " ", exact(member));
  };
  FieldsOf<T>::visit(add, value);
  return text;
}

bool is_native(const Field& field, const std::string& text) {
  return field.form == Form::Runtime && text == kNativeRuntime;
}
bool is_native(const Field&, const auto&) { return false; }

// Whether it has none of what only sandboxes have that are not kept ready.
template <Listed T>
bool is_usual(const T& value) {
  bool usual = true;
  auto look = [&](const Field& field, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if (field.pool != Pool::Usual) return;
    if constexpr (Listed<Member>)
      usual = usual && is_usual(member);
    else if constexpr (requires { member == Member(); })
      usual = usual && (member == Member() || is_native(field, member));
  };
  FieldsOf<T>::visit(look, value);
  return usual;
}

bool has_news(const Sandbox& sandbox) {
  pollfd polled = {sandbox.events_fd(), POLLIN, 0};
  return ::poll(&polled, 1, 0) != 0;
}

}  // namespace

std::string hidden_script(const std::string& exec_id) { return concat(".cove-", exec_id); }

std::string script_path(const std::string& exec_id, const std::string& extension) {
  return concat("/tmp/cove-", exec_id, extension);
}

std::string waiting_key(const LanguageUse& use) { return concat(use.name, "@", use.version); }

std::string waiting_key(const ExecOrder& order) {
  return order.used && !order.language.empty() && order.file.empty() ? waiting_key(*order.used) : std::string();
}

WarmPool::WarmPool(const Config& config, Runtime& runtime, RoomGauge& room, Languages& languages, Clock& clock,
                   Networks* networks)
    : config_(config), runtime_(runtime), room_(room), languages_(languages), clock_(clock), networks_(networks) {}

std::string WarmPool::class_of(const SandboxSpec& spec) { return is_usual(spec) ? exact(spec) : std::string(); }

void WarmPool::start() {
  if (config_.pool.size == 0) return;
  SandboxSpec usual;
  usual.limits = config_.limits;
  usual.lifetime = Lifetime::Long;
  usual.runtime = config_.runtime;
  for (bool one_use : {false, true}) {
    usual.one_use = one_use;
    expect_default(usual);
  }
  if (!config_.pool.languages.empty() && runtime_.capabilities().waiting_scripts) default_parts_ = 2;
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), kFewestThreads, kMostThreads);
  for (unsigned i = 0; i < count; ++i)
    threads_.emplace_back([this, i] {
      if (i == 0) expect_first_language();
      refill();
    });
}

void WarmPool::expect_default(SandboxSpec model) {
  if (model.limits.disk.value == 0) model.limits.disk.value = usual_disk(model);
  const std::string name = class_of(model);
  if (name.empty()) return;
  kinds_[{name, ""}] = {.model = model, .permanent = true};
  default_classes_.emplace(name, std::move(model));
}

// It may take a moment until the version of its interpreter is known.
void WarmPool::expect_first_language() {
  if (default_classes_.empty() || default_parts_ == 1) return;
  Result<LanguagePlan> plan = languages_.plan({config_.pool.languages.front(), ""}, SandboxSpec().image);
  std::lock_guard lock(mutex_);
  default_parts_ = 1;
  if (!plan) return;
  for (const auto& [name, model] : default_classes_)
    kinds_.try_emplace({name, waiting_key(plan->use)}, Kind{.model = model}).first->second.permanent = true;
}

void WarmPool::stop() {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  for (auto& [key, kind] : kinds_)
    end({std::make_move_iterator(kind.ready.begin()), std::make_move_iterator(kind.ready.end())});
  kinds_.clear();
}

std::optional<Blank> WarmPool::take(const SandboxSpec& spec, const std::optional<std::string>& first_use) {
  const std::string class_name = config_.pool.size == 0 ? std::string() : class_of(spec);
  if (class_name.empty()) return std::nullopt;
  std::optional<Blank> taken;
  std::vector<Blank> broken;
  bool hurry = false;
  {
    std::lock_guard lock(mutex_);
    const Clock::Time now = clock_.now();
    auto latest = latest_of(class_name);
    const std::string language = first_use                ? waiting_language(*first_use)
                                 : latest == kinds_.end() ? std::string()
                                                          : latest->first.language;
    const Key key{class_name, language};
    const Kind* wanted = want(key, spec, now);
    paused_until_ = now + kPause;
    taken = take_ready(key, broken);
    taken ? ++numbers_.taken : ++numbers_.missed;
    hurry = wanted && wanted->count() * 2 < target_of(key, *wanted, now);
  }
  if (hurry) changed_.notify_all();
  end(std::move(broken));
  return taken;
}

// Of that kind, else for any command, else whatever the class has.
std::optional<Blank> WarmPool::take_ready(const Key& key, std::vector<Blank>& broken) {
  auto take_from = [&](Kind& kind) -> std::optional<Blank> {
    while (!kind.ready.empty()) {
      // The newest: what it touched last is still in the processor's caches.
      Blank newest = std::move(kind.ready.back());
      kind.ready.pop_back();
      if (!has_news(*newest.handle)) return newest;
      broken.push_back(std::move(newest));
    }
    return std::nullopt;
  };
  for (const Key& each : {key, Key{key.class_name, ""}})
    if (auto found = kinds_.find(each); found != kinds_.end())
      if (std::optional<Blank> blank = take_from(found->second)) return blank;
  for (auto at = kinds_.lower_bound({key.class_name, ""}); at != kinds_.end(); ++at) {
    if (at->first.class_name != key.class_name) break;
    if (std::optional<Blank> blank = take_from(at->second)) return blank;
  }
  return std::nullopt;
}

void WarmPool::go_on() {
  {
    std::lock_guard lock(mutex_);
    paused_until_ = {};
  }
  changed_.notify_one();
}

void WarmPool::count_first_use(const std::string& class_name, const std::string& language) {
  std::lock_guard lock(mutex_);
  auto known = latest_of(class_name);
  if (known == kinds_.end()) return;
  const SandboxSpec model = known->second.model;
  want({class_name, waiting_language(language)}, model, clock_.now());
}

void WarmPool::forget_image(const std::string& digest) {
  std::vector<Blank> blanks;
  {
    std::lock_guard lock(mutex_);
    for (auto at = kinds_.begin(); at != kinds_.end();) {
      Kind& kind = at->second;
      if (!kind.model.image.ends_with(digest)) {
        ++at;
        continue;
      }
      for (Blank& blank : kind.ready) blanks.push_back(std::move(blank));
      kind.ready.clear();
      // What is being made of it fails, or is superfluous.
      kind.asked = clock_.now() - kKept;
      at = kind.making > 0 ? std::next(at) : kinds_.erase(at);
    }
  }
  end(std::move(blanks));
}

void WarmPool::count_interpreter() {
  std::lock_guard lock(mutex_);
  ++numbers_.interpreters;
}

WarmPool::Numbers WarmPool::numbers() const {
  std::lock_guard lock(mutex_);
  Numbers numbers = numbers_;
  for (const auto& [key, kind] : kinds_) numbers.ready += kind.ready.size();
  return numbers;
}

// --- what there should be ----------------------------------------------------------------------------------------

// Itself where its interpreter may wait; else what takes any command.
std::string WarmPool::waiting_language(const std::string& language) const {
  const auto& may_wait = config_.pool.languages;
  const bool waits = std::ranges::find(may_wait, language.substr(0, language.find('@'))) != may_wait.end();
  return waits && runtime_.capabilities().waiting_scripts ? language : std::string();
}

// The kind of the class that was asked for last.
WarmPool::Kinds::iterator WarmPool::latest_of(const std::string& class_name) {
  auto latest = kinds_.end();
  for (auto at = kinds_.lower_bound({class_name, ""}); at != kinds_.end(); ++at) {
    if (at->first.class_name != class_name) break;
    if (latest == kinds_.end() || at->second.asked > latest->second.asked) latest = at;
  }
  return latest;
}

// Null where there is no room for another kind.
WarmPool::Kind* WarmPool::want(const Key& key, const SandboxSpec& model, Clock::Time now) {
  auto found = kinds_.find(key);
  if (found == kinds_.end()) {
    const auto others =
        static_cast<size_t>(std::ranges::count_if(kinds_, [&](const auto& each) { return !is_default(each.first); }));
    if (!is_default(key) && others >= std::min<size_t>(kOtherKinds, config_.pool.size)) return nullptr;
    found = kinds_.emplace(key, Kind{.model = model}).first;
    found->second.model.id.clear();
    found->second.model.workspace = {};
    found->second.model.network = class_model(model.network);
  }
  found->second.asked = now;
  return &found->second;
}

size_t WarmPool::target_of(const Key& key, const Kind& kind, Clock::Time now) const {
  auto is_used = [now](const Kind& each) { return now - each.asked < kKept; };
  if (short_of_memory_ || (!kind.permanent && !is_used(kind))) return 0;
  if (!is_default(key)) return std::max<size_t>(1, config_.pool.size / kOtherKinds);
  size_t used = 0, unused = 0;
  for (const auto& [other_key, other] : kinds_)
    if (is_default(other_key)) is_used(other) ? ++used : unused += other.permanent ? 1 : 0;
  const size_t parts = std::max(unused, default_parts_ * default_classes_.size());
  if (used == 0) return std::max<size_t>(1, config_.pool.size / parts);
  if (!is_used(kind)) return 1;
  return std::max<size_t>(1, (config_.pool.size - std::min<size_t>(unused, config_.pool.size)) / used);
}

// The kind that lacks most of its target; what was used lately goes first.
WarmPool::Kinds::iterator WarmPool::next_to_make() {
  const Clock::Time now = clock_.now();
  auto next = kinds_.end();
  std::pair<bool, double> first;  // not used lately, and how full
  for (auto at = kinds_.begin(); at != kinds_.end(); ++at) {
    const auto& [key, kind] = *at;
    const size_t target = now < kind.rest_until ? 0 : target_of(key, kind, now);
    if (kind.count() >= target) continue;
    const std::pair rank(now - kind.asked >= kKept, static_cast<double>(kind.count()) / static_cast<double>(target));
    if (next == kinds_.end() || rank < first) first = rank, next = at;
  }
  // Half of them are enough for the moment in which someone has just taken one.
  return first.second >= 0.5 && now < paused_until_ ? kinds_.end() : next;
}

std::vector<Blank> WarmPool::take_superfluous() {
  const Clock::Time now = clock_.now();
  std::vector<Blank> superfluous;
  for (auto at = kinds_.begin(); at != kinds_.end();) {
    auto& [key, kind] = *at;
    const size_t target = target_of(key, kind, now);
    for (; kind.ready.size() > target; kind.ready.pop_front()) superfluous.push_back(std::move(kind.ready.front()));
    const bool forgotten = !kind.permanent && now - kind.asked >= kKept && kind.count() == 0;
    at = forgotten ? kinds_.erase(at) : std::next(at);
  }
  return superfluous;
}

}  // namespace cove::engine
