#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/manifest.h"
#include "image/reference.h"

namespace cove {

// Who asks a registry, where it wants to know. Never logged, never stored.
struct RegistryLogin {
  std::string username;
  std::string password;
  std::string token;  // an identity token, in place of the two

  bool empty() const { return username.empty() && token.empty(); }
};

// Where the server may connect to for somebody: to any address, or to public ones only. The server sees more of the
// network, and its own loopback, than a caller from elsewhere should.
enum class Reach { Anywhere, Public };

struct RegistryRules {
  std::vector<std::string> insecure;  // registries beside those on this machine to which plain HTTP may be spoken
  Reach reach = Reach::Anywhere;      // also of its token server, and where it redirects to
};

// What is done with the bytes of a blob as they come; an error ends the transfer. `restart`: the registry begins anew.
struct BlobSink {
  std::function<Result<void>(std::string_view piece)> take;
  std::function<Result<void>()> restart;
};

// One repository of a registry that speaks the OCI distribution protocol (Docker's registry API, version 2).
// Thread-safe.
//
// Names and passwords, and the tokens that they buy, go to the registry and to the token server that it names, over
// TLS, or over plain HTTP where that is allowed; never to where a registry redirects.
class Registry {
 public:
  // All that it does ends early where `cancelled` becomes true.
  Registry(ImageReference reference, RegistryLogin login, RegistryRules rules, const std::atomic<bool>& cancelled);
  ~Registry();

  struct Fetched {
    std::string text;
    std::string digest;  // as it was computed
  };
  // By tag or digest; what comes for a digest has it. NotFound, Denied.
  Result<Fetched> manifest(const std::string& tag_or_digest);
  // A small blob, whole and checked.
  Result<std::string> blob(const Descriptor& descriptor);
  // A large one, from `offset` on; tries again, and goes on where it was, when the connection breaks. Not checked: the
  // sink sees every byte.
  Result<void> blob(const Descriptor& descriptor, uint64_t offset, const BlobSink& sink);

  struct Request;  // one transfer; of registry.cc

 private:
  struct Answer;
  Result<Answer> ask(Request& request);
  static bool asks_for_tls(const Answer& answer);
  Result<Answer> perform(Request& request, const std::string& token, bool basic);
  Result<std::string> fetch_token(const std::string& challenge);
  Result<void> check_answer(const Answer& answer, const std::string& what) const;
  std::string url(const std::string& kind, const std::string& name) const;

  const ImageReference reference_;
  const RegistryLogin login_;
  const Reach reach_;
  const std::atomic<bool>& cancelled_;
  bool plain_ = false;                   // may be spoken to without TLS
  std::atomic<bool> wants_tls_ = false;  // all the same
  std::mutex mutex_;
  std::string token_;
  bool basic_ = false;
};

}  // namespace cove
