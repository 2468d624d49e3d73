#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "config/config.h"
#include "engine/network/networks.h"
#include "engine/quota/admission.h"
#include "engine/sandbox_info.h"
#include "run/languages.h"
#include "runtime/runtime.h"

namespace cove::engine {

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
};

// Sandboxes kept ready: made by threads of its own, handed out once, never taken back. Thread-safe.
//
// A kind is a class, what sandboxes that are made alike have in common (image, user, limits), and what waits in them: a
// program for any command, or the interpreter of one language. How many of each kind are kept is one rule:
//
// - The default classes, for which a caller names nothing (one for sandboxes that stay, one for those of a single run):
//   `pool.size`, in equal parts for any command and for the first of `pool.languages` in each. Once some of these, or
//   other languages, were used within ten minutes, they share it, and the others keep one each.
// - Other kinds that were asked for within ten minutes: a quarter of `pool.size` each, four kinds at most. A fifth has
//   to wait until one of the four is no longer asked for.
// - What was used within ten minutes is made before what was not.
// - While less than a tenth of the machine's memory is available: none.
//
// Nothing of it is on record: what a killed server leaves, the next one sweeps away.
class WarmPool {
 public:
  // `networks`: of those sandboxes that have one; none: none has.
  WarmPool(const Config& config, Runtime& runtime, RoomGauge& room, Languages& languages, Clock& clock,
           Networks* networks = nullptr);
  ~WarmPool() { stop(); }

  void start();
  // Ends its threads and all that is ready.
  void stop();

  // The class of a sandbox; empty where it is of a kind that is not kept ready.
  static std::string class_of(const SandboxSpec& spec);
  // One like this, if there is one. `first_use`: the key of what it will be used for first, empty for a command; where
  // that is not known, it is taken to be what its class was used for last.
  std::optional<Blank> take(const SandboxSpec& spec, const std::optional<std::string>& first_use);
  // A sandbox has ended: making another disturbs no one now.
  void go_on();
  // The key of what a sandbox of the class was used for first; empty: no code.
  void count_first_use(const std::string& class_name, const std::string& language);
  void count_interpreter();

  // The image is to be removed: nothing made of it is kept ready any more.
  void forget_image(const std::string& digest);

  struct Numbers {
    uint64_t ready = 0;
    uint64_t taken = 0;
    uint64_t missed = 0;        // asked for when there was none
    uint64_t interpreters = 0;  // taken with the script that they waited for
  };
  Numbers numbers() const;

 private:
  struct Key {
    std::string class_name;
    std::string language;  // empty: for any command
    auto operator<=>(const Key&) const = default;
  };
  struct Kind {
    SandboxSpec model;
    bool permanent = false;  // kept whether anyone asks or not
    std::deque<Blank> ready;
    size_t making = 0;
    // For the last time; at first long ago, whenever the machine was booted.
    Clock::Time asked = Clock::Time() - std::chrono::hours(1);
    Clock::Time rest_until;  // none is made before: the last could not be

    size_t count() const { return ready.size() + making; }
  };
  using Kinds = std::map<Key, Kind>;

  void expect_default(SandboxSpec model);
  void expect_first_language();
  bool is_default(const Key& key) const { return default_classes_.contains(key.class_name); }
  void refill();
  void look_after();
  Kinds::iterator next_to_make();
  std::vector<Blank> take_superfluous();
  size_t target_of(const Key& key, const Kind& kind, Clock::Time now) const;
  Kind* want(const Key& key, const SandboxSpec& model, Clock::Time now);
  Kinds::iterator latest_of(const std::string& class_name);
  std::optional<Blank> take_ready(const Key& key, std::vector<Blank>& broken);
  std::string waiting_language(const std::string& language) const;

  void destroy(Blank& blank);
  Result<Blank> make(const Key& key, const SandboxSpec& model);
  Result<Blank> make_blank(const SandboxSpec& model);
  Result<void> start_waiting(Blank& blank, const std::string& language);
  Result<ExecSpec> interpreter(const SandboxSpec& sandbox, const std::string& language);
  void keep(Kind& kind, Result<Blank> blank);
  void end(std::vector<Blank> blanks);

  const Config& config_;
  Runtime& runtime_;
  RoomGauge& room_;
  Languages& languages_;
  Clock& clock_;
  Networks* const networks_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  Kinds kinds_;
  std::map<std::string, SandboxSpec> default_classes_;  // with a model of each
  size_t default_parts_ = 1;                            // of each, at least: the first language may not be known yet
  Clock::Time looked_after_;
  Clock::Time paused_until_;
  bool short_of_memory_ = false;
  bool stopping_ = false;
  Numbers numbers_;
  std::vector<std::thread> threads_;
};

}  // namespace cove::engine
