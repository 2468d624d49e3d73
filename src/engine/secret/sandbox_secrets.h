#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "auth/caller.h"
#include "base/result.h"
#include "engine/network/networks.h"
#include "engine/sandbox_info.h"
#include "engine/secret/trust.h"
#include "runtime/runtime.h"
#include "secret/mask.h"
#include "secret/secrets.h"

namespace cove::engine {

// What an exec gets of the secrets of its sandbox and its own.
struct ExecSecrets {
  Environment env;                           // with values, or the placeholders of brokered ones
  bool trust = false;                        // programs are to trust the sandbox's authority
  std::shared_ptr<const MaskPatterns> mask;  // of its output; null: nothing
};

// What becomes of secrets in sandboxes. Values are in memory only: of an exec while it runs. Thread-safe.
class SandboxSecrets : public NetworkSecrets {
 public:
  static Result<std::shared_ptr<SandboxSecrets>> open(Store& store, KeyPlaces places);

  // Called where a secret was set or removed, with its project and name.
  using OnChange = std::function<void(const std::string& project, const std::string& name)>;
  void on_change(OnChange changed) { changed_ = std::move(changed); }

  // --- for people: in the caller's project, with the scope `secrets` -------------------------------------------------
  // Makes it or replaces it. Invalid: hosts that are no names or subdomains of one, and as with Secrets::set.
  Result<SecretInfo> set(const Caller& caller, SecretInfo info, std::string value);
  // Of the project and, if one is named, of no other agent; oldest first.
  Result<std::vector<SecretInfo>> list(const Caller& caller, const std::string& agent);
  Result<void> remove(const Caller& caller, const std::string& agent, const std::string& name);  // NotFound
  // Encrypts those of all projects with a new key; needs the scope `admin`.
  Result<void> rotate(const Caller& caller);

  // --- for sandboxes -------------------------------------------------------------------------------------------------
  // Whether the caller may give a sandbox, a session or an exec these secrets: Denied without the scope `secrets`,
  // NotFound names the first that there is not.
  Result<void> check(const Caller& caller, const std::string& agent, const std::vector<std::string>& names);
  // Invalid: a brokered secret that is named by the exec alone.
  Result<ExecSecrets> for_exec(const SandboxInfo& sandbox, const ExecOrder& order);
  // To mask what an exec writes that was started before, by this server or an earlier one: those there still are.
  std::shared_ptr<const MaskPatterns> mask_of(const SandboxInfo& sandbox, const ExecOrder& order);
  // Secrets that are gone meanwhile are left out.
  Result<void> fill(const SandboxInfo& sandbox, net::EffectivePolicy& policy) override;
  // Has the programs of a sandbox that is built trust its authority, where it has brokered secrets.
  Result<void> install(Sandbox& handle, const SandboxInfo& sandbox);

 private:
  explicit SandboxSecrets(std::unique_ptr<Secrets> secrets) : secrets_(std::move(secrets)) {}
  Result<std::vector<SecretValue>> present_values(const SandboxInfo& sandbox);

  std::unique_ptr<Secrets> secrets_;
  OnChange changed_ = [](const std::string&, const std::string&) {};
};

inline constexpr size_t kMostNamedSecrets = 64;

}  // namespace cove::engine
