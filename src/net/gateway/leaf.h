#pragma once

#include <deque>
#include <string>
#include <unordered_map>

#include "net/certificate.h"
#include "net/policy.h"

namespace cove::net {

// The certificates that programs inside are shown, with one key for all of them. Keeps the newest.
class Leaves {
 public:
  static constexpr size_t kMost = 256;
  static constexpr int64_t kBackdated = 24 * 3'600'000ll, kLifetime = 72 * 3'600'000ll, kRenewed = 24 * 3'600'000ll;

  static Result<Leaves> create();
  EVP_PKEY* key() const { return key_.get(); }
  // For that name, signed by the policy's authority, valid for another day at least. Belongs to this until the next
  // call.
  Result<X509*> leaf(const std::string& name, const EffectivePolicy& policy, int64_t now_ms);
  size_t size() const { return leaves_.size(); }

 private:
  struct Leaf {
    Certificate certificate;
    int64_t not_after_ms = 0;
  };
  explicit Leaves(Key key) : key_(std::move(key)) {}
  Result<Leaf> make(const std::string& name, const EffectivePolicy& policy, int64_t now_ms) const;

  Key key_;
  std::unordered_map<std::string, Leaf> leaves_;  // by name and authority
  std::deque<std::string> order_;
};

}  // namespace cove::net
