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

// Credentials for a registry. Never logged, never stored.
struct RegistryLogin {
  std::string username;
  std::string password;
  std::string token;  // an identity token, instead of name and password

  bool empty() const { return username.empty() && token.empty(); }
};

// Where the server may connect for a caller: to any address, or only to public ones. The server can reach more of the
// network, and its own loopback, than a remote caller should.
enum class Reach { Anywhere, Public };

struct RegistryRules {
  std::vector<std::string> insecure;  // registries, besides those on this machine, that may be accessed over plain HTTP
  Reach reach = Reach::Anywhere;      // also for its token server and for redirects
};

// Receives the bytes of a blob as they arrive; an error ends the transfer. `restart`: the registry starts from the
// beginning.
struct BlobSink {
  std::function<Result<void>(std::string_view piece)> take;
  std::function<Result<void>()> restart;
};

// One repository of a registry that speaks the OCI distribution protocol (Docker's registry API, version 2).
// Thread-safe.
//
// Names, passwords and the tokens obtained with them are sent only to the registry and to the token server that it
// names, over TLS, or over plain HTTP if that is allowed; never to the target of a redirect.
class Registry {
 public:
  // All that it does ends early where `cancelled` becomes true.
  Registry(ImageReference reference, RegistryLogin login, RegistryRules rules, const std::atomic<bool>& cancelled);
  ~Registry();

  struct Fetched {
    std::string text;
    std::string digest;  // as computed
  };
  // By tag or digest; a digest is verified. NotFound, Denied.
  Result<Fetched> manifest(const std::string& tag_or_digest);
  // A small blob, complete and verified.
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
  bool plain_ = false;                   // may be accessed without TLS
  std::atomic<bool> wants_tls_ = false;  // but requires TLS
  std::mutex mutex_;
  std::string token_;
  bool basic_ = false;
};

}  // namespace cove
