#include "engine/live/warm_pool.h"

#include <poll.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "engine/live/admission.h"
#include "model/runtime_kind.h"

namespace cove::live {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr unsigned kFewestThreads = 2;
constexpr unsigned kMostThreads = 8;
constexpr size_t kUnasked = 2;           // kept ready as long as nobody asks
constexpr minutes kForgotten(10);        // a class that nobody asked for is dropped
constexpr minutes kQuiet(5);             // after which the pool shrinks
constexpr milliseconds kLeaveAlone(20);  // after somebody took one: his first exec comes now, and perhaps the end
constexpr seconds kShortage(2);          // lasts so long after somebody found none
constexpr double kFading = 0.98;         // of the demand, with each request
constexpr double kLearning = 0.3;        // how much one use says about the next
constexpr double kWorthwhile = 0.05;     // a wish below that is not worth a sandbox
constexpr double kSure = 0.8;            // a wish above that is taken for granted

template <typename T>
void add_limit(std::string& text, const Limit<T>& limit) {
  if constexpr (requires { limit.value.count(); })
    text += concat(" ", limit.value.count());
  else
    text += concat(" ", limit.value);
  if (limit.named) text += '!';
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

size_t WarmPool::Class::count(const std::string& language) const {
  auto there = ready.find(language);
  auto coming = making.find(language);
  return (there == ready.end() ? 0 : there->second.size()) + (coming == making.end() ? 0 : coming->second);
}

size_t WarmPool::Class::count() const {
  size_t sum = 0;
  for (const auto& [language, blanks] : ready) sum += blanks.size();
  for (const auto& [language, number] : making) sum += number;
  return sum;
}

std::string waiting_key(const LanguageUse& use) { return concat(use.name, "@", use.version); }

std::string waiting_key(const ExecOrder& order) {
  return order.used && !order.language.empty() && order.file.empty() ? waiting_key(*order.used) : std::string();
}

WarmPool::WarmPool(const Config& config, Runtime& runtime, RoomGauge& room, Languages& languages)
    : config_(config), runtime_(runtime), room_(room), languages_(languages) {}

std::string WarmPool::class_of(const SandboxSpec& spec) {
  const bool native = spec.runtime.empty() || spec.runtime == kNativeRuntime;
  const bool plain = native && spec.name.empty() && spec.workspace.access == Access::None && !spec.nesting;
  if (!plain) return {};
  std::string name = concat(spec.image, " ", spec.user, spec.strictness == Strictness::Strict ? " strict" : "");
  const Limits& limits = spec.limits;
  add_limit(name, limits.cpus), add_limit(name, limits.memory), add_limit(name, limits.disk);
  add_limit(name, limits.inodes), add_limit(name, limits.processes), add_limit(name, limits.open_files);
  add_limit(name, limits.file_size), add_limit(name, limits.io_read), add_limit(name, limits.io_write);
  return name;
}

void WarmPool::expect_usual(SandboxSpec usual) {
  Class& first = classes_[usual_];
  first.model = std::move(usual);
  first.wishes[""] = 0.5;
}

void WarmPool::start() {
  if (config_.pool.size == 0) return;
  SandboxSpec usual;
  usual.limits = config_.limits;
  if (usual.limits.disk.value == 0) usual.limits.disk.value = kDefaultDisk;
  usual.lifetime = Lifetime::Long;
  usual.runtime = config_.runtime;
  usual_ = class_of(usual);
  if (!usual_.empty()) expect_usual(std::move(usual));
  // Two more than there are CPUs: each now and then waits for the kernel.
  const unsigned count = std::clamp(std::thread::hardware_concurrency() + 2, kFewestThreads, kMostThreads);
  for (unsigned i = 0; i < count; ++i)
    threads_.emplace_back([this, i] {
      if (i == 0) wish_for_first_language();
      refill();
    });
}

// Half of them for any command, half for the first of the languages, until it is known what they are used for.
void WarmPool::wish_for_first_language() {
  if (usual_.empty() || config_.pool.languages.empty()) return;
  Result<LanguagePlan> plan = languages_.plan({config_.pool.languages.front(), ""}, SandboxSpec().image);
  if (!plan) return;
  std::lock_guard lock(mutex_);
  classes_[usual_].wishes.try_emplace(waiting_key(plan->use), 0.5);
}

void WarmPool::stop() {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  for (auto& [name, each] : classes_)
    for (auto& [language, blanks] : each.ready)
      end({std::make_move_iterator(blanks.begin()), std::make_move_iterator(blanks.end())});
  classes_.clear();
}

std::optional<Blank> WarmPool::take(const SandboxSpec& spec, const std::string& language) {
  std::string name = config_.pool.size == 0 ? std::string() : class_of(spec);
  if (name.empty()) return std::nullopt;
  std::optional<Blank> taken;
  std::vector<Blank> broken;
  std::optional<Wish> now;
  bool hurry = false;
  {
    std::lock_guard lock(mutex_);
    auto [found, is_new] = classes_.try_emplace(name);
    Class& wanted = found->second;
    if (is_new) {
      wanted.model = spec;
      wanted.model.id.clear();
      wanted.model.workspace = {};
      wanted.wishes[""] = 1;
    }
    last_taken_ = wanted.asked = Clock::now();
    undisturbed_until_ = last_taken_ + kLeaveAlone;
    asked_ = true;
    for (auto& [other, each] : classes_) each.demand *= kFading;
    wanted.demand += 1;
    // What was wanted most of late, where it is not known; then whatever there is.
    std::vector<std::string> order;
    for (const auto& [each, wish] : wanted.wishes) order.push_back(each);
    std::ranges::sort(order, [&](const auto& a, const auto& b) { return wanted.wishes[a] > wanted.wishes[b]; });
    if (!language.empty()) order.insert(order.begin(), language);
    for (const std::string& each : order) {
      std::deque<Blank>& blanks = wanted.ready[each];
      while (!taken && !blanks.empty()) {
        // The newest: what it touched last is still in the processor's caches.
        Blank& newest = blanks.back();
        has_news(*newest.handle) ? broken.push_back(std::move(newest)) : static_cast<void>(taken = std::move(newest));
        blanks.pop_back();
      }
      if (taken) break;
    }
    taken ? ++numbers_.taken : ++numbers_.missed;
    if (!taken) {
      wanted.short_until = last_taken_ + kShortage;
      const bool sure = !language.empty() || wanted.wishes[order.front()] > kSure;
      now = Wish{name, order.front(), wanted.model, std::nullopt};
      if (sure && !short_of_memory_ && last_taken_ >= wanted.rest_until) choose_copy(*now);
    }
    hurry = is_new || !taken || wanted.count() * 2 < share_of(name, wanted, size_now(last_taken_));
  }
  if (hurry) changed_.notify_all();
  end(std::move(broken));
  return now && now->copy ? make_for_caller(*now) : std::move(taken);
}

void WarmPool::go_on() {
  {
    std::lock_guard lock(mutex_);
    undisturbed_until_ = {};
  }
  changed_.notify_one();
}

void WarmPool::count_first_use(const std::string& class_name, const std::string& language) {
  if (class_name.empty()) return;
  std::lock_guard lock(mutex_);
  auto found = classes_.find(class_name);
  if (found == classes_.end()) return;
  std::map<std::string, double>& wishes = found->second.wishes;
  bool waits = may_wait(language);
  wishes.try_emplace(waits ? language : "", 0);
  for (auto& [each, wish] : wishes) wish += kLearning * ((each == (waits ? language : "") ? 1 : 0) - wish);
}

void WarmPool::forget_image(const std::string& digest) {
  std::vector<Blank> blanks;
  {
    std::lock_guard lock(mutex_);
    for (auto at = classes_.begin(); at != classes_.end();) {
      if (!at->second.model.image.ends_with(digest)) {
        ++at;
        continue;
      }
      for (auto& [language, ready] : at->second.ready)
        for (Blank& blank : ready) blanks.push_back(std::move(blank));
      at->second.ready.clear();
      // What is being made of it fails, or is dropped with the class.
      const bool busy = at->second.count() > 0;
      at->second.demand = 0;
      at->second.asked = {};
      at = busy ? std::next(at) : classes_.erase(at);
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
  for (const auto& [name, each] : classes_)
    for (const auto& [language, blanks] : each.ready) numbers.ready += blanks.size();
  return numbers;
}

// --- what there should be ----------------------------------------------------------------------------------------

size_t WarmPool::size_now(Clock::time_point now) const {
  if (short_of_memory_) return 0;
  bool quiet = !asked_ || now - last_taken_ > kQuiet;
  return quiet ? std::min<size_t>(kUnasked, config_.pool.size) : config_.pool.size;
}

size_t WarmPool::share_of(const std::string& name, const Class& each, size_t size) const {
  double all = 0;
  for (const auto& [other, one] : classes_)
    if (one.failures == 0 || &one == &each) all += one.demand + (other == usual_ ? 1 : 0);
  double part = all > 0 ? (each.demand + (name == usual_ ? 1 : 0)) / all : 0;
  return std::min(size, std::max<size_t>(1, static_cast<size_t>(std::floor(static_cast<double>(size) * part))));
}

bool WarmPool::may_wait(const std::string& language) const {
  return std::ranges::find(config_.pool.languages, language.substr(0, language.find('@'))) !=
         config_.pool.languages.end();
}

bool WarmPool::can_wait(const std::string& class_name, const std::string& language) const {
  return language.empty() ||
         (runtime_.capabilities().waiting_scripts && !cannot_wait_.contains({class_name, language}));
}

// By language, the most wanted first served; what rounding leaves goes to the most wanted.
std::map<std::string, size_t> WarmPool::targets(const Class& each, size_t share) const {
  std::map<std::string, size_t> wanted;
  std::string favourite;
  double sum = 0;
  for (const auto& [language, wish] : each.wishes)
    if (wish >= kWorthwhile && can_wait(class_of(each.model), language)) sum += wish;
  if (sum == 0) return {{"", share}};
  size_t left = share;
  double most = -1;
  for (const auto& [language, wish] : each.wishes) {
    if (wish < kWorthwhile || !can_wait(class_of(each.model), language)) continue;
    if (wish > most) most = wish, favourite = language;
    size_t some = std::min(left, static_cast<size_t>(std::floor(static_cast<double>(share) * wish / sum)));
    wanted[language] = some;
    left -= some;
  }
  wanted[favourite] += left;
  return wanted;
}

std::optional<WarmPool::Wish> WarmPool::next_wish() {
  Clock::time_point now = Clock::now();
  size_t size = size_now(now);
  size_t there = 0;
  for (const auto& [name, each] : classes_) there += each.count();
  if (there >= size) return std::nullopt;
  std::optional<Wish> wish;
  double emptiest = 1;
  for (const auto& [name, each] : classes_) {
    if (now < each.rest_until) continue;
    for (const auto& [language, target] : targets(each, share_of(name, each, size))) {
      if (target == 0) continue;
      double filled = static_cast<double>(each.count(language)) / static_cast<double>(target);
      if (filled >= emptiest) continue;
      emptiest = filled;
      wish = Wish{name, language, each.model, std::nullopt};
    }
  }
  // Where enough is there, whoever has just taken one is not disturbed.
  if (wish && emptiest >= 0.5 && now < undisturbed_until_) return std::nullopt;
  return wish;
}

// Classes that nobody asks for any more, and what is too much of the others.
std::vector<Blank> WarmPool::take_superfluous() {
  Clock::time_point now = Clock::now();
  size_t size = size_now(now);
  std::vector<Blank> superfluous;
  for (auto at = classes_.begin(); at != classes_.end();) {
    auto& [name, each] = *at;
    const bool forgotten = name != usual_ && now - each.asked > kForgotten;
    std::map<std::string, size_t> wanted = targets(each, size == 0 || forgotten ? 0 : share_of(name, each, size));
    for (auto& [language, blanks] : each.ready) {
      size_t most = wanted.contains(language) ? wanted[language] : 0;
      // One that is there already is kept a while, even where one less would do.
      if (size > 0 && !forgotten) most += 1;
      for (; blanks.size() > most; blanks.pop_front()) superfluous.push_back(std::move(blanks.front()));
    }
    for (auto& [language, shelf] : each.copies) shelf.tidy(now);
    if (size == 0) each.copies.clear();
    at = forgotten && each.count() == 0 ? classes_.erase(at) : std::next(at);
  }
  return superfluous;
}

}  // namespace cove::live
