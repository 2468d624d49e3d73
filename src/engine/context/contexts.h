#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/context/context_channel.h"
#include "engine/context/turns.h"
#include "engine/engine.h"

namespace cove::engine {

inline constexpr const char* kUsualLanguage = "python";
inline constexpr const char* kDefaultContext = "default";    // of the usual language
inline constexpr const char* kDefaultContexts = "default-";  // what the names of all such begin with

// A stateful interpreter in a sandbox, as in a notebook.
struct ContextInfo {
  std::string id;
  std::string sandbox_id;
  std::string language;
  std::string name;  // may be empty
  std::string cwd;   // empty: the sandbox's
  int64_t created_ms = 0;
  bool busy = false;
  std::optional<LanguageUse> used;
};

struct ContextOrder {
  std::string language = "python";
  std::string name;
  std::string cwd;
  Environment env;
  std::string user;
  std::string session = {};  // whose it is alone, or empty
};

// Whether an exec is the interpreter of a context.
bool is_context(const ExecOrder& order);
// Whether only contexts have, or had, this tag.
bool is_context_tag(const std::string& tag);

// How code waits for its turn in a context: until then, and as long as somebody wants it, which is looked at now and
// then.
struct TurnWait {
  std::optional<std::chrono::steady_clock::time_point> until;
  std::function<bool()> is_wanted;
};

// A turn in a context, for one piece of code. Whoever holds it has the context for himself. One thread.
class Execution {
 public:
  virtual ~Execution() = default;
  virtual const std::string& id() const = 0;
  virtual const std::string& context() const = 0;
  // Once.
  virtual Result<void> begin(const std::string& code) = 0;
  // What the interpreter has said about it since the last call: stdout, stderr, result, error, and at the end done.
  // First comes what programs have printed in the context since the last execution.
  virtual Result<std::vector<KernelMessage>> next() = 0;
  // Readable when `next` may have something.
  virtual int fd() const = 0;
  // Stops the code; the context lives on, if the code lets it.
  virtual Result<void> interrupt() = 0;
  // Ends the context with it.
  virtual Result<void> kill() = 0;
  // The exec that is the context's interpreter, as it is now.
  virtual ExecInfo interpreter() const = 0;
};

// The contexts of all sandboxes. A context is an exec whose program is an interpreter's kernel (src/context/): it has
// the exec's id, lives as long, and is found again by a later server. One whose interpreter has ended by itself is
// known as long as that exec is on record: it can be restarted, and by its name it is, when it is used. Thread-safe.
class Contexts {
 public:
  explicit Contexts(Engine& engine) : engine_(engine) {}

  // Exists where a living one has the name.
  Result<ContextInfo> create(const Caller& caller, const std::string& sandbox, const ContextOrder& order);
  Result<std::vector<ContextInfo>> list(const Caller& caller, const std::string& sandbox);
  Result<ContextInfo> find(const Caller& caller, const std::string& sandbox, const std::string& context);
  // As find; but also one that has ended by itself.
  Result<ContextInfo> find_any(const Caller& caller, const std::string& sandbox, const std::string& context);
  Result<void> remove(const Caller& caller, const std::string& sandbox, const std::string& context);
  // A new interpreter in place of this one, which may have ended: another id, the rest as it was ordered.
  Result<ContextInfo> restart(const Caller& caller, const std::string& sandbox, const std::string& context);
  Result<void> interrupt(const Caller& caller, const std::string& sandbox, const std::string& context);
  // As find; but one that has ended by itself begins anew, where it was asked for by its name. Conflict by its id.
  Result<ContextInfo> find_or_revive(const Caller& caller, const std::string& sandbox, const std::string& context);
  // Waits while something else runs in the context; null where the wait was over before that. The sandbox is in use
  // until the execution is gone; it is resumed where it may be.
  Result<std::unique_ptr<Execution>> enter(const Caller& caller, const ContextInfo& context, const TurnWait& wait);
  // The context of this name in the sandbox; made where there is none.
  Result<ContextInfo> find_or_create(const Caller& caller, const std::string& sandbox, const ContextOrder& order);

 private:
  enum class Life { Living, Ended };
  Result<std::vector<ContextInfo>> list(const Caller& caller, const std::string& sandbox, Life life);
  Result<std::optional<ContextInfo>> find_ended(const Caller& caller, const std::string& sandbox,
                                                const std::string& context);
  Result<Turns::Turn> turn_of(const Caller& caller, const std::string& sandbox, const std::string& name);
  Result<ContextInfo> make(const Caller& caller, const std::string& sandbox, const ContextOrder& order);
  Result<ContextInfo> start_anew(const Caller& caller, const std::string& sandbox, const ContextInfo& old);
  Result<void> forget(const Caller& caller, const std::string& sandbox, const std::string& id);
  Result<std::shared_ptr<ContextChannel>> channel(const Caller& caller, const std::string& sandbox,
                                                  const std::string& context);

  Engine& engine_;
  std::mutex mutex_;                                             // of the channels
  std::map<std::string, std::shared_ptr<ContextChannel>> held_;  // by context
  Turns making_;                                                 // by sandbox and name: each is made once
};

}  // namespace cove::engine
