#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace cove::engine {

// One thread for what must not keep others waiting; in order.
class BackgroundJobs {
 public:
  using Work = std::function<void()>;
  BackgroundJobs() : thread_([this] { run(); }) {}
  ~BackgroundJobs() { stop(); }

  void add(Work work) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      queue_.push_back(std::move(work));
    }
    changed_.notify_one();
  }
  // When those who are waiting for an answer have it, and what they do next is perhaps done.
  void add_for_later(Work work) {
    bool first;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      first = later_.empty();
      later_.push_back({Clock::now() + kLull, std::move(work)});
    }
    if (first) changed_.notify_one();
  }

  // Finishes what is in the queue.
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kLull{10};
  struct Delayed {
    Clock::time_point due;
    Work work;
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      while (!later_.empty() && (stopping_ || later_.front().due <= Clock::now())) {
        queue_.push_back(std::move(later_.front().work));
        later_.pop_front();
      }
      if (queue_.empty() && stopping_) return;
      if (queue_.empty()) {
        if (later_.empty())
          changed_.wait(lock);
        else
          changed_.wait_until(lock, later_.front().due);
        continue;
      }
      Work work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::deque<Delayed> later_;  // all for as long
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cove::engine
