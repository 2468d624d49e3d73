#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/languages.h"
#include "engine/live/admission.h"
#include "engine/live/config.h"
#include "engine/live/copy_shelf.h"
#include "engine/live/sandbox_info.h"
#include "runtime/runtime.h"

namespace cove::live {

// The path of a snippet's file in its sandbox.
std::string script_path(const std::string& exec_id, const std::string& extension);
// What code is called in a folder of the user's own, without its extension.
std::string hidden_script(const std::string& exec_id);

// What an interpreter that could wait for this code is called: "python@3.11.2". Empty where it is no code, or code in a
// file.
std::string waiting_key(const ExecOrder& order);
std::string waiting_key(const LanguageUse& use);

// A sandbox that nobody has used, with a program in it that waits: an interpreter for its script, or, where no language
// is named, one for any command. It is what the first exec becomes; no exec ever sees it beside itself for long.
struct Blank {
  SandboxSpec spec;
  std::unique_ptr<Sandbox> handle;
  std::string language;
  std::string exec_id;  // of the program; empty where the runtime knows none that wait
  Attachment streams;   // its
  std::string script;   // where an interpreter will look for its script
  bool copied = false;  // that interpreter is a copy
};

// Sandboxes kept ready: made by threads of its own, handed out once, never taken back. Sandboxes that are made alike
// form a class; the classes that are asked for share the pool's size by demand, and in each class the interpreters that
// its sandboxes were used for first. A class whose sandboxes cannot be made is left alone, longer each time, and has no
// share meanwhile. Thread-safe.
//
// Nothing of it is on record: what a killed server leaves, the next one sweeps away.
class WarmPool {
 public:
  WarmPool(const Config& config, Runtime& runtime, RoomGauge& room, Languages& languages);
  ~WarmPool() { stop(); }

  void start();
  // Ends its threads and all that is ready.
  void stop();

  // The class of a sandbox; empty where it is of a kind that is not kept ready.
  static std::string class_of(const SandboxSpec& spec);
  // One like this, if there is one, or a copy of an interpreter for one. `language`: the key of what it will be used
  // for first, where that is known.
  std::optional<Blank> take(const SandboxSpec& spec, const std::string& language);
  // A sandbox has ended: nobody is disturbed now by the making of another.
  void go_on();
  // The key of what a sandbox of the class was used for first; empty: no code.
  void count_first_use(const std::string& class_name, const std::string& language);
  void count_interpreter();

  // The image is to go: nothing made of it is kept ready any more.
  void forget_image(const std::string& digest);

  struct Numbers {
    uint64_t ready = 0;
    uint64_t taken = 0;
    uint64_t missed = 0;        // asked for when there was none
    uint64_t interpreters = 0;  // taken with the script that they waited for
    uint64_t copies = 0;        // interpreters that were not started, but copied
  };
  Numbers numbers() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Class {
    SandboxSpec model;
    std::map<std::string, std::deque<Blank>> ready;  // by language
    std::map<std::string, size_t> making;            // by language
    std::map<std::string, double> wishes;            // by language: how often it was wanted of late, 0 to 1
    std::map<std::string, CopyShelf> copies;         // by language
    double demand = 0;                               // sandboxes asked for of late, fading
    Clock::time_point asked;
    Clock::time_point short_until;  // somebody has asked of late, and there was none
    unsigned failures = 0;          // since the last one that could be made
    Clock::time_point rest_until;   // none is made before: the last could not be

    size_t count(const std::string& language) const;
    size_t count() const;
  };
  struct Wish {
    std::string class_name;
    std::string language;
    SandboxSpec model;
    std::optional<Copy> copy;  // what its interpreter is to be
  };

  void refill();
  void expect_usual(SandboxSpec usual);
  std::optional<Wish> next_wish();
  std::vector<Blank> take_superfluous();
  size_t size_now(Clock::time_point now) const;
  size_t share_of(const std::string& name, const Class& each, size_t size) const;
  std::map<std::string, size_t> targets(const Class& each, size_t share) const;
  bool can_wait(const std::string& class_name, const std::string& language) const;
  Result<Blank> make(const Wish& wish);
  void keep(const Wish& wish, Result<Blank> blank);
  Result<Blank> make_blank(const Wish& wish);
  std::optional<Blank> make_for_caller(const Wish& wish);
  Result<void> start_waiting(Blank& blank, const Wish& wish, std::chrono::milliseconds patience);
  // copies of interpreters
  CopyShelf* shelf_of(const Wish& wish);
  bool may_copy(const Wish& wish) const;
  void choose_copy(Wish& wish);
  bool copy_for_others(const Wish& wish, Blank& blank);
  void give_copies_up(const Wish& wish, const Error& why);
  Result<ExecSpec> interpreter(const SandboxSpec& sandbox, const std::string& language);
  bool may_wait(const std::string& language) const;
  void wish_for_first_language();
  void end(std::vector<Blank> blanks);

  const Config& config_;
  Runtime& runtime_;
  RoomGauge& room_;
  Languages& languages_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::map<std::string, Class> classes_;
  std::string usual_;                                          // the class of a sandbox for which nothing is asked
  std::set<std::pair<std::string, std::string>> cannot_wait_;  // class and language
  Clock::time_point last_taken_;
  Clock::time_point undisturbed_until_;
  bool asked_ = false;  // ever
  bool short_of_memory_ = false;
  bool stopping_ = false;
  Numbers numbers_;
  std::vector<std::thread> threads_;
};

}  // namespace cove::live
