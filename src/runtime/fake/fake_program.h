#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "runtime/fake/fake_clock.h"
#include "runtime/runtime.h"

namespace cove::fake {

// What all parts of a fake machine share.
struct FakeWorld {
  explicit FakeWorld(FakeClock& its_clock) : clock(its_clock) {}
  FakeClock& clock;
  mutable std::mutex mutex;
  std::condition_variable changed;
};

// Where programs run: what of a sandbox they see.
struct FakePlace {
  bool frozen = false;
  std::map<std::string, UniqueFd> files;  // in memory, by their path
  std::set<std::string> folders = {"/", "/tmp", "/home", "/home/user"};
};

// A program that is a script of words, done one after the other; its exit code is 0 unless one of them says otherwise:
//
//   print TEXT, error TEXT   to stdout, to stderr
//   flood BYTES              so many of them to stdout; waits, where nobody takes them
//   echo-input               copies its input to stdout, to the end
//   show-variable NAME
//   save PATH TEXT, show PATH
//   sleep                    until it is ended
//   sleep-for MILLISECONDS   by the fake clock, from its start or the last such sleep
//   ignore-term              SIGTERM, from then on
//   leave-orphan             something that it started keeps its streams open when it ends
//   exit CODE, signal NUMBER
//   out-of-memory            the kernel kills it at the sandbox's limit
//   break                    Cove itself fails to start it
//
// Where the first word is none of these and the last one is the path of a file, the script is in there; else there is
// no such program.
class FakeProgram {
 public:
  // Is told how it ended, or that it waits; called with the world's lock held.
  using Tell = std::function<void(Event event)>;
  static Result<std::shared_ptr<FakeProgram>> start(FakeWorld& world, std::shared_ptr<FakePlace> place, ExecSpec spec,
                                                    Tell tell);
  // Ends it. Not with the world's lock held.
  ~FakeProgram();
  FakeProgram(const FakeProgram&) = delete;

  // The others: with the world's lock held.
  Result<Attachment> streams() const;
  void give(ExecSpec spec);
  void give_script(std::string_view text);
  void close_input() { input_kept_.reset(); }
  void signal(int number);
  // Nobody is told of its end.
  void vanish();
  bool waits() const { return !has_lot_ && !over(); }
  std::string first_word() const { return spec_.argv.empty() ? std::string() : spec_.argv.front(); }
  bool ended() const { return ended_; }
  const std::optional<Event>& end() const { return end_; }

 private:
  FakeProgram(FakeWorld& world, std::shared_ptr<FakePlace> place, ExecSpec spec, Tell tell);
  Result<void> open_streams();
  Result<void> open_input();
  void run();
  void run_script(std::vector<std::string> words);
  void run_word(const std::string& word);
  std::vector<std::string> script_of(std::vector<std::string> words) const;
  std::string next_word();
  std::string text_of(const std::string& path) const;
  void save(const std::string& path, std::string_view text);
  void show_variable(const std::string& name);
  void sleep_for(const std::string& milliseconds);
  void write(const UniqueFd& fd, std::string_view data);
  void echo_input();
  void exit(int code) { outcome_.wait_status = code << 8, finished_ = true; }
  void fail_to_start(Error error, int exit_code);
  void finish();
  bool over() const { return finished_ || vanished_ || killed_by_ != 0; }
  // Waits until then, or until it is over with the program; not while it is frozen.
  void pass_until(const std::function<bool()>& then);
  // The same for a stream; without the lock meanwhile.
  void poll_for(int fd, short events);

  FakeWorld& world_;
  const std::shared_ptr<FakePlace> place_;
  ExecSpec spec_;
  const Tell tell_;
  UniqueFd input_;       // its end
  UniqueFd input_kept_;  // the other one, for a later server
  UniqueFd out_, err_;
  UniqueFd out_kept_, err_kept_;
  UniqueFd wake_;  // readable when it is to look up from its streams
  std::vector<std::string> words_;
  size_t at_ = 0;
  bool has_lot_ = true;
  bool ignores_term_ = false;
  bool leaves_orphan_ = false;
  bool vanished_ = false;
  bool finished_ = false;
  bool ended_ = false;
  int killed_by_ = 0;
  Clock::Time awake_since_;
  ExecEnded outcome_;
  std::optional<ExecFailed> failure_;
  std::optional<Event> end_;
  std::unique_lock<std::mutex> lock_;  // the thread's, of the world
  std::thread thread_;
};

}  // namespace cove::fake
