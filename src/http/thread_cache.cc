#include "http/thread_cache.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace cove::http {
namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStack = 2048 * 1024;  // sanitizers want room of their own
#else
constexpr size_t kStack = 256 * 1024;
#endif
constexpr size_t kSpare = 8;    // idle threads that are kept
constexpr auto kIdleFor = 30s;  // the others, after this

// All signals are blocked in threads that are made meanwhile.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

class Crew::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(std::function<Work()> lead) : lead_(std::move(lead)) {}

  Result<void> recruit() {
    {
      std::lock_guard lock(mutex_);
      ++threads_;
    }
    if (int problem = create_thread(); problem != 0) {
      left();
      return fail(Error::from_errno(problem, "pthread_create"));
    }
    return {};
  }

  void dismiss() {
    std::lock_guard lock(mutex_);
    dismissed_ = true;
    for (Waiting* one : waiting_) one->wake.notify_one();
  }

  bool wait_until_left(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    auto nobody = [this] { return threads_ == 0; };
    if (patience != std::chrono::milliseconds::max()) return empty_.wait_for(lock, patience, nobody);
    empty_.wait(lock, nobody);
    return true;
  }

 private:
  struct Waiting {
    std::condition_variable wake;
    bool chosen = false;
  };

  int create_thread() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    auto own = std::make_unique<std::shared_ptr<State>>(shared_from_this());
    SignalsBlocked blocked;
    pthread_t thread;
    int problem = pthread_create(&thread, &attributes, &State::run, own.get());
    if (problem == 0) own.release();
    pthread_attr_destroy(&attributes);
    return problem;
  }

  static void* run(void* own) {
    std::unique_ptr<std::shared_ptr<State>> state(static_cast<std::shared_ptr<State>*>(own));
    pthread_setname_np(pthread_self(), "http");
    while ((*state)->take_lead()) {
      Work work = (*state)->lead_();
      (*state)->pass_lead();
      if (work) work();
    }
    (*state)->left();
    return nullptr;
  }

  // Waits for the lead; false where this thread is not needed any more.
  bool take_lead() {
    std::unique_lock lock(mutex_);
    if (!wait_for_lead(lock)) return false;
    led_ = true;
    bool alone = waiting_.empty();
    lock.unlock();
    if (alone) (void)recruit();  // without, the lead waits until somebody is back from work
    return true;
  }

  bool wait_for_lead(std::unique_lock<std::mutex>& lock) {
    while (led_ && !dismissed_) {
      Waiting self;
      waiting_.push_back(&self);
      self.wake.wait_for(lock, kIdleFor, [&] { return self.chosen || dismissed_; });
      std::erase(waiting_, &self);
      if (self.chosen) break;
      if (waiting_.size() >= kSpare) return false;
    }
    return !dismissed_;
  }

  // To the one who became idle last: its stack is still in the caches.
  void pass_lead() {
    std::lock_guard lock(mutex_);
    led_ = !waiting_.empty() && !dismissed_;
    if (!led_) return;
    Waiting* next = waiting_.back();
    waiting_.pop_back();
    next->chosen = true;
    next->wake.notify_one();
  }

  void left() {
    std::lock_guard lock(mutex_);
    if (--threads_ == 0) empty_.notify_all();
  }

  std::function<Work()> lead_;
  std::mutex mutex_;
  std::condition_variable empty_;
  std::vector<Waiting*> waiting_;
  size_t threads_ = 0;
  bool led_ = false;
  bool dismissed_ = false;
};

Crew::Crew(std::function<Work()> lead) : state_(std::make_shared<State>(std::move(lead))) {}
Crew::~Crew() = default;

Result<void> Crew::start() { return state_->recruit(); }
void Crew::dismiss() { state_->dismiss(); }
bool Crew::wait_until_left(std::chrono::milliseconds patience) { return state_->wait_until_left(patience); }

}  // namespace cove::http
